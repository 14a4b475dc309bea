"""Says how to get gymnasium, if it is not there, before anything else asks for it."""

from kinemorph._extras import need

need("gymnasium", "gym", "environments")
