"""How trees move in a step: accelerations, integration, and corrections of momentum and energy."""
