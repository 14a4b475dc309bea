"""Compiled kernels on disk: each version of a function for some types is one file, written atomically.

Numba's own cache looks at a single source file: it hands out stale machine code after an edit in a callee elsewhere
(numba#1833), and its index races between processes. Here a file is named by a hash of all that its machine code depends
on (`_jit_keys`), and nothing has to be kept in step with anything else. To load a kernel is to run what the file holds,
so it must be what was written under that name, in a folder that nobody else writes to.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ._jit_calls import expect
from ._jit_keys import reachable, reference, referred, version_key
from ._jit_numba import complete, holds_addresses, machine, packed, rebuilt, split_signature, unpacked
from ._jit_progress import progress

_DAY = 86400.0
_FORGOTTEN_AFTER = 30 * _DAY


def cache_folder() -> Path:
    """Where kinemorph keeps what it can make again: $KINEMORPH_CACHE_DIR, or the system's usual place."""
    if chosen := os.environ.get("KINEMORPH_CACHE_DIR"):
        return Path(chosen).expanduser().absolute()
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches, "kinemorph").absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "kinemorph", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kinemorph"
    return Path.home() / ".cache" / "kinemorph"


def _kernels_folder() -> Path:
    return cache_folder() / "kernels"


def cache_size() -> tuple[int, int]:
    """How many kernels are kept, of all versions of the sources, and their bytes."""
    sizes = [0]
    with contextlib.suppress(OSError, RuntimeError):
        sizes += [path.stat().st_size for path in _kernels_folder().glob("*.kernel")]
    return len(sizes) - 1, sum(sizes)


def why_not_kept() -> str | None:
    """Make the folder of the kernels, or say why kernels cannot be kept there."""
    try:
        folder = _kernels_folder()
        for path in (folder.parent, folder):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if suspicion := _suspicion(folder.stat()):
            return f"{folder} {suspicion}"
        return None if os.access(folder, os.W_OK) else f"{folder} is not writable"
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        return str(error)


def _suspicion(status: os.stat_result) -> str | None:
    """Why what lies in a folder, or in a file, may not be our own; None if it must be."""
    if not hasattr(os, "geteuid"):  # Windows, where the home folder is its owner's alone
        return None
    if status.st_uid not in (os.geteuid(), 0):  # root could change this very program
        return "belongs to another user: name another cache folder by KINEMORPH_CACHE_DIR"
    if status.st_mode & 0o022:
        return "can be written to by other users: remove it, and it is made anew"
    return None


class KernelCache:
    """What a Numba dispatcher asks for compiled versions of its function, and hands new ones to."""

    def __init__(self, kernel: Any) -> None:
        function = kernel.py_func
        self._kernel = kernel
        self._enabled = True
        self._keys: dict[Any, str | None] = {}
        self._prefix = re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}")[:150] + "-"

    @property
    def cache_path(self) -> str:
        return str(_kernels_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        self._remove(older_than=0.0)

    def _remove(self, older_than: float) -> None:
        for path in _kernels_folder().glob(glob.escape(self._prefix) + "*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime >= older_than:
                    path.unlink()

    def key(self, signature: Any) -> str | None:
        """What the version for some types is known by; None if it cannot be kept."""
        if signature not in self._keys:
            arguments, result = split_signature(signature)
            self._keys[signature] = version_key(self._kernel, arguments, result, machine(self._kernel.targetctx))
        return self._keys[signature]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        complete(target_context)
        path = self.path(sig)
        result = self._read(path) if path else None
        if result is None:
            progress.missed(self._kernel.py_func.__name__, reachable(self._kernel), why_not_kept, cache_folder)
        else:
            progress.finished(compiled=False)
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        if path := self.path(sig):
            parts, calls = data.library.needs()
            needs = [(reference(self._kernel, kernel), types, None) for kernel, types in parts]
            needs += [(reference(self._kernel, kernel), types, key) for key, (kernel, types) in calls.items()]
            if holds_addresses(data) or any(name is None for name, *_ in needs):
                progress.complain(f"{self._prefix[:-1]} holds addresses of this process")
            elif _write(path, needs, data):
                self._remove(older_than=_FORGOTTEN_AFTER)
        progress.finished(compiled=True)

    def path(self, signature: Any) -> Path | None:
        """Where the version for some types is, or will be; None if it cannot be kept."""
        if self._enabled and (key := self.key(signature)):
            with contextlib.suppress(RuntimeError):  # there is no home folder
                return _kernels_folder() / f"{self._prefix}{key[:40]}.kernel"
        return None

    def _read(self, path: Path) -> Any:
        try:
            if body := _content(path):
                needs, state = unpacked(body)
                parts = [self._find(name).called.library(types) for name, types, key in needs if key is None]
                result = rebuilt(state, self._kernel.targetctx, parts)
                if parts and result.library.lacks_parts():
                    return None
                for name, types, key in needs:
                    if key is not None:
                        self._expect(key, name, types)
                        result.library.calls[key] = self._find(name), types
                return result
        except Exception:  # whatever is wrong with the file, compiling again puts it right
            return None

    def _find(self, name: Any) -> Any:
        return referred(self._kernel, name)

    def _expect(self, key: str, name: Any, types: Any) -> None:
        """A kernel that was compiled before calls another one, which need not be there before it does."""
        expect(key, lambda: self._find(name).called.address(types))


def checksum(name: str, body: bytes) -> bytes:
    """What a file of that name begins with, before its body."""
    digest = hashlib.sha256(f"{name}\0".encode())
    digest.update(body)
    return digest.digest()


def _content(path: Path) -> bytes | None:
    """What was written to a file; None if that is not what it holds, or may not be."""
    with open(path, "rb") as file:
        status, content = os.fstat(file.fileno()), file.read()
    seal, body = content[:32], content[32:]
    if _suspicion(path.parent.stat()) or _suspicion(status) or seal != checksum(path.name, body):
        return None
    if time.time() - status.st_mtime > _DAY:
        with contextlib.suppress(OSError):  # the folder may be shared and read-only
            os.utime(path)  # what is in use is not forgotten
    return body


def _write(path: Path, needs: Any, result: Any) -> bool:
    reason: object = why_not_kept()
    if not reason:
        try:
            body = packed(needs, result)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
            try:
                with open(handle, "wb") as file:
                    file.write(checksum(path.name, body) + body)
                os.replace(temporary, path)
                return True
            except BaseException:
                os.unlink(temporary)
                raise
        except Exception as error:  # a full disk, something that cannot be pickled: it works all the same
            reason = error
    progress.complain(reason)
    return False
