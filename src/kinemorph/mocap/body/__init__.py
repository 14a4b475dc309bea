"""The human figure, its anthropometry, and how a recorded skeleton becomes one."""
