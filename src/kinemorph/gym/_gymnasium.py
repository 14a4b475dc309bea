"""Says how to get gymnasium, if it is not there, before anything else asks for it."""

from kinemorph._extras import require_module

require_module("gymnasium", "gym", "environments")
