"""Which shapes meet, where, and how deep: tiles find pairs, V-Clip measures them, manifolds describe the contact."""
