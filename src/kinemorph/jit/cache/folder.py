"""Where kinemorph keeps what it can make again, and whether that place is its user's alone.

Kernels are code that will be run, and hulls decide what collides: a user that can write them, or put another folder in
their place, decides what this process does. So every folder on the way, from the top of the file system, must
belong to the user or to root, and no other user may write there; symbolic links are followed by the same rule.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
import tempfile
from pathlib import Path

from kinemorph.jit.progress import progress

_MOST_LINKS = 40  # on the way to a folder, as the system has it
_REMEDY = "name a folder of your own by KINEMORPH_CACHE_DIR"
_safe: dict[Path, Path] = {}  # of folders that were asked for, those that are used


def cache_folder() -> Path:
    """Where the user wants kept what can be made again: $KINEMORPH_CACHE_DIR, or the system's usual place."""
    if chosen := os.environ.get("KINEMORPH_CACHE_DIR"):
        return Path(chosen).expanduser().absolute()
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches, "kinemorph").absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "kinemorph", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kinemorph"
    return Path.home() / ".cache" / "kinemorph"


def kept_folder(name: str) -> Path:
    """The folder of a kind of things that are kept: in the cache, or in a private place if others could change it.

    It need not be there yet; `make_kept` makes it. PermissionError if neither place is safe, RuntimeError if there is
    no home folder.
    """
    wanted = cache_folder() / name
    if wanted not in _safe:
        if (why := why_foreign(wanted)) is None:
            if wanted.exists():  # only its owner can change that any more
                _safe[wanted] = wanted
            return wanted
        private = private_folder() / name
        if other := why_foreign(private):
            raise PermissionError(f"{why}, and {other}; {_REMEDY}")
        progress.warn(f"{why}; what is kept in {name} goes to {private} instead; {_REMEDY}")
        _made(private)
        _safe[wanted] = private
    return _safe[wanted]


def make_kept(name: str) -> Path:
    """The same, made for its owner alone."""
    folder = _made(kept_folder(name))
    if why := why_foreign(folder):
        raise PermissionError(f"{why}; {_REMEDY}")
    return folder


def _made(folder: Path) -> Path:
    for path in (folder.parent, folder):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def private_folder() -> Path:
    """A folder of this user's among temporary files."""
    return Path(tempfile.gettempdir(), f"kinemorph-{os.geteuid()}").absolute()


def why_foreign(path: Path) -> str | None:
    """Why what lies in a folder may have been put there by others; None if only this user and root could do that.

    Of a folder that is not there yet, those above it are judged.
    """
    if not hasattr(os, "geteuid"):  # Windows, where the home folder is its owner's alone
        return None
    here, left, links, open_to_all = Path(path.anchor), list(path.parts[1:]), 0, False
    while True:
        try:
            status = here.lstat()
        except FileNotFoundError:
            return None
        if status.st_uid not in _trusted_owners():
            return f"{here} belongs to another user"
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if open_to_all or links > _MOST_LINKS:
                return f"{here} is a symbolic link where other users can make some"
            target = here.parent / os.readlink(here)
            here, left, open_to_all = Path(target.anchor), [*target.parts[1:], *left], False
            continue
        open_to_all = _others_write(status)
        if status.st_mode & 0o022 if not left else open_to_all and not status.st_mode & stat.S_ISVTX:
            return f"{here} can be written to by other users"
        if not left:
            return None
        name = left.pop(0)
        here = here.parent if name == ".." else here / name


def why_foreign_file(status: os.stat_result) -> str | None:
    """The same of a file in such a folder."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in _trusted_owners():
        return "belongs to another user"
    return "can be written to by other users" if status.st_mode & 0o022 else None


def _others_write(status: os.stat_result) -> bool:
    """Whether others may write: all, or a group with others in it. Many systems give each user a group of its own."""
    if status.st_mode & 0o002:
        return True
    return bool(status.st_mode & 0o020) and not _is_own_group(status.st_gid)


@functools.cache
def _is_own_group(group: int) -> bool:
    """Whether a group is that of this user, has the same name, and has no other member."""
    with contextlib.suppress(ImportError, KeyError):
        import grp
        import pwd

        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
        return user.pw_gid == group and user.pw_name == found.gr_name and set(found.gr_mem) <= {user.pw_name}
    return False


@functools.cache
def _trusted_owners() -> frozenset[int]:
    """This user, and root, which could change this very program. In a container without root's rights, root's folders
    belong to the overflow user."""
    owners = {os.geteuid(), 0}
    with contextlib.suppress(OSError, ValueError):
        whole = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
        if not whole:
            owners.add(int(Path("/proc/sys/kernel/overflowuid").read_text()))
    return frozenset(owners)
