"""Files of the working folder from which packages take settings by themselves, before any file is named.

A command may be called in a folder with files of others. Its own arguments are then all that it goes by.
"""

from __future__ import annotations

import os

from kinemorph._files import FileError

SETTINGS = {
    ".numba_config.yaml": "Numba would take settings from it, and overwrite files that it names; set them as NUMBA_..."
    " in the environment",
    "matplotlibrc": "Matplotlib would take settings from it, and start LaTeX; keep them in ~/.config/matplotlib",
}


def refuse_settings() -> None:
    """Raise if there is such a file. No package has a switch to leave it out."""
    for name, why in SETTINGS.items():
        if os.path.lexists(name):
            raise FileError(f"{os.path.abspath(name)}: {why}, or call the command in another folder")
