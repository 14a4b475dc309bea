"""Motion of trees in a step: accelerations, integration, and corrections of momentum and energy."""
