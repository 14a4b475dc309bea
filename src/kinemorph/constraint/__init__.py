"""One constraint row between any two links of any trees: loops now, whatever else ties bodies later."""
