"""Files: reading those of others whole, never more than a limit, what to say when they are bad; writing ours whole."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

PathLike = str | os.PathLike[str]
# Characters of a bad value that an error repeats: enough to find it, and a hostile file cannot flood a log.
SHOWN_VALUE_CHARACTERS = 60


class FileError(ValueError):
    """A file that cannot be read as what it should be. The message names the file, the place in it and the value."""


class ModelWarning(UserWarning):
    """A model was loaded as its file says, though no real machine is like that."""


def require_file(path: PathLike) -> None:
    """A file that is to be read later is one, or is told not to be."""
    if Path(path).is_dir():
        raise FileError(f"{path}: this is a folder; name a file in it")
    if not Path(path).exists():
        raise FileError(f"{path}: there is no such file")
    if not Path(path).is_file():  # a pipe or a device may never end
        raise FileError(f"{path}: this is not a regular file")


def read_bytes(path: PathLike, limit: int) -> bytes:
    """All bytes of a file that is no bigger than `limit`."""
    path = Path(path)
    try:
        require_file(path)
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(min(size, limit) + 1)  # memory for all that is asked for is taken at once
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > limit:
        raise FileError(f"{path}: it has {path.stat().st_size} bytes, the limit is {limit}")
    return content


def write_whole(path: PathLike, content: bytes) -> None:
    """Write a file so that it is there whole or, whatever happens, as it was before."""
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        error.filename = str(path)  # the user does not know the temporary name
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp lets only its owner read
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise


def can_hold(folder: PathLike) -> None:
    """Raise if results cannot be put into a folder, which need not be there yet: before they are computed."""
    here = Path(folder).absolute()
    while not here.exists() and here != here.parent:
        here = here.parent
    if not here.is_dir():
        raise FileError(f"{folder}: {here} is a file; name a folder")
    if not os.access(here, os.W_OK | os.X_OK):
        raise FileError(f"{folder}: nothing may be written into {here}")


def quoted(value: str) -> str:
    """A value as errors repeat it: in quotes, without control characters, cut where it is long."""
    return f'"{repr(value[:SHOWN_VALUE_CHARACTERS])[1:-1]}{"…" if len(value) > SHOWN_VALUE_CHARACTERS else ""}"'


def caller_level() -> int:
    """The `stacklevel` of a warning: how many frames up the first caller outside this package is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("kinemorph."):
        frame, level = frame.f_back, level + 1
    return level


def warn_of_model(text: str) -> None:
    """Warn of something in a model, at the first caller outside this package."""
    warnings.warn(text, ModelWarning, stacklevel=caller_level())
