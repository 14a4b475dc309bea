"""Compiled kernels on disk: each version of a function for some types is one file, written atomically.

Numba's own cache looks at a single source file: it hands out stale machine code after an edit in a callee elsewhere
(numba#1833), and its index races between processes. Here a file is named by a hash of all that its machine code depends
on (`jit.cache.keys`), and nothing has to be kept in step with anything else. To load a kernel is to run what the file
holds, so it must be what was written under that name, in a folder that no other user can write to.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from kinemorph.jit.cache import keys
from kinemorph.jit.cache.compile_processes import helpers
from kinemorph.jit.cache.folder import kept_folder, make_kept, why_foreign_file
from kinemorph.jit.cache.known_keys import note_about, note_name, version_in
from kinemorph.jit.cache.pack import KERNEL, NOTE, installed_pack
from kinemorph.jit.cache.usual_kernels import expected
from kinemorph.jit.compiler import numba_names
from kinemorph.jit.compiler.calls import expect
from kinemorph.jit.progress import progress

_DAY = 86400.0
_FORGOTTEN_AFTER = 30 * _DAY
_NAME = re.compile(r".*-(?P<key>[0-9a-f]{40})(-[0-9a-f]{12}\.kernel|\.note)")  # what it computes, for which machine

files_in_use: dict[Path, None] = {}  # of the kernels that this process has compiled or loaded, in this order


def _kernels_folder() -> Path:
    return kept_folder("kernels")


def cache_size() -> tuple[int, int]:
    """How many kernels are kept, of all versions of the sources, and their bytes."""
    sizes = [0]
    with contextlib.suppress(OSError, RuntimeError):
        sizes += [path.stat().st_size for path in _kernels_folder().glob("*.kernel")]
    return len(sizes) - 1, sum(sizes)


def why_not_kept() -> str | None:
    """Make the folder of the kernels, or say why kernels cannot be kept there."""
    try:
        folder = make_kept("kernels")
        return None if os.access(folder, os.W_OK) else f"{folder} is not writable"
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        return str(error)


class KernelCache:
    """What a Numba dispatcher asks for compiled versions of its function, and hands new ones to."""

    def __init__(self, kernel: Any) -> None:
        function = kernel.py_func
        self._kernel = kernel
        self._enabled = True
        self._versions: dict[Any, tuple[str, str] | None] = {}
        self._noted: set[str] = set()  # versions that notes tell of: names stand for what they stood for then
        self._prefix = re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}")[:150] + "-"

    @property
    def cache_path(self) -> str:
        return str(_kernels_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        for path in _kernels_folder().glob(glob.escape(self._prefix) + "*"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _version(self, signature: Any) -> tuple[str, str] | None:
        """What the version for some types computes, on any machine, and this machine; None if it cannot be kept."""
        if signature not in self._versions:
            version = self._found(*numba_names.split_signature(signature))
            here = version and keys.surroundings(numba_names.machine(self._kernel.targetctx))
            self._versions[signature] = (version, here) if version and here else None
        return self._versions[signature]

    def _found(self, arguments: tuple[Any, ...], result: Any) -> str | None:
        """What the version for some types computes: as a note has it, or else as it is found now, and noted."""
        name = note_name(self._kernel, arguments, result) if self._enabled and self._kernel.is_noted else None
        path = self._file(f"{name}{NOTE}") if name else None
        if name is None or path is None:
            return keys.version_key(self._kernel, arguments, result)
        pack = installed_pack()
        note = (pack and pack.note(name)) or _content(path)
        version = version_in(note) if note else None
        if version:
            self._noted.add(version)
        elif version := keys.version_key(self._kernel, arguments, result):
            note = note_about(self._kernel, arguments, version)
            with contextlib.suppress(OSError):  # a full disk
                if note and not why_not_kept():
                    _put(path, note)
        if note:
            files_in_use[path] = None
        return version

    def suppose(self, signature: Any, version: str, noted: bool) -> None:
        """What the version for some types computes is known from one that calls it, perhaps from a note."""
        if signature not in self._versions:
            self._versions[signature] = version, keys.surroundings(numba_names.machine(self._kernel.targetctx))
            if noted:
                self._noted.add(version)

    def computed(self, signature: Any) -> str | None:
        """What the version for some types computes, on any machine; None if it cannot be known again."""
        version = self._version(signature)
        return version and version[0]

    def key(self, signature: Any) -> str | None:
        """What the version for some types is known by, on this machine; None if it cannot be kept."""
        version = self._version(signature)
        return version and keys.hash_of(version)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        result = self._from_pack(sig) or self._from_folder(sig)
        if result is None:
            progress.missed(
                self._kernel.py_func.__name__,
                lambda: expected(self._kernel.kernel),
                why_not_kept,
                lambda: _kernels_folder().parent,
                _remark,
                lambda seconds: self._ask_for_help(sig, seconds),
            )
        else:
            progress.finished(compiled=False)
        return result

    def _ask_for_help(self, signature: Any, seconds: float) -> int:
        """In how many processes a kernel is compiled, with all that it calls."""
        function, version = self._kernel.py_func, self._version(signature)
        if version is None or not keys.is_known_by_name(self._kernel.kernel) or why_not_kept():
            return 1
        return helpers.ask(function.__module__, function.__qualname__, self.path(signature), version[1], seconds)

    def calls(self, path: Path) -> list[tuple[Any, Any]]:
        """The units that a version calls which is kept in a file or in the pack, and the types."""
        name, pack = _NAME.fullmatch(path.name), installed_pack()
        try:
            needs, _ = numba_names.unpacked(_content(path) or (pack and name and pack.read(name["key"])) or b"")
            return [(self._find(name, False), types) for name, types, key, _ in needs if key is not None]
        except Exception:  # it is damaged, or was not there at all
            return []

    def save_overload(self, sig: Any, data: Any) -> None:
        if path := self.path(sig):
            parts, calls = data.library.needs()
            needs: list[Any] = [
                (keys.reference(self._kernel.kernel, kernel), types, None, None) for kernel, types in parts
            ]
            needs += [
                (keys.reference(self._kernel.kernel, kernel), types, key, self._implied(kernel, types))
                for key, (kernel, types) in calls.items()
            ]
            if numba_names.holds_addresses(data) or any(name is None for name, *_ in needs):
                progress.complain(f"{self._prefix[:-1]} holds addresses of this process")
            elif _write(path, needs, data):
                files_in_use[path] = None
                _forget_old_files(path.parent)
        progress.finished(compiled=True)

    def path(self, signature: Any) -> Path | None:
        """Where the version for some types is, or will be; None if it cannot be kept."""
        version = self._version(signature) if self._enabled else None
        return self._file(f"{version[0][:40]}-{version[1][:12]}{KERNEL}") if version else None

    def _file(self, name: str) -> Path | None:
        with contextlib.suppress(OSError, RuntimeError):  # no folder is safe; there is no home folder
            return _kernels_folder() / f"{self._prefix}{name}"
        return None

    def _from_pack(self, signature: Any) -> Any:
        pack = installed_pack() if self._enabled else None
        version = self._version(signature) if pack else None
        body = pack.read(version[0][:40]) if pack and version else None
        return self._rebuilt(body, version[0]) if body and version else None

    def _from_folder(self, signature: Any) -> Any:
        path, version = self.path(signature), self._version(signature)
        body = _content(path) if path else None
        result = self._rebuilt(body, version[0]) if body and version else None
        if path and result:
            files_in_use[path] = None
        return result

    def _rebuilt(self, body: bytes, version: str) -> Any:
        noted = version in self._noted
        try:
            needs, state = numba_names.unpacked(body)
            parts = [self._find(name, noted).called.library(types) for name, types, key, _ in needs if key is None]
            result = numba_names.rebuilt(state, self._kernel.targetctx, parts)
            if result is None or (parts and result.library.lacks_parts()):
                return None
            for name, types, key, implied in needs:
                if key is not None:
                    callee = self._find(name, noted)  # now: modules may be loaded again before it is called
                    self._expect(key, callee, types, implied, noted)
                    result.library.calls[key] = callee, types
            return result
        except Exception:  # compiling again replaces a damaged file
            return None

    def _find(self, name: Any, noted: bool) -> Any:
        return keys.referred(self._kernel.kernel, name, noted)

    def _expect(self, key: str, callee: Any, types: Any, version: str | None, noted: bool) -> None:
        """A kernel that was compiled before calls another one, which need not be there before it does."""
        expect(key, lambda: callee.called.address(types, version, noted))

    def _implied(self, callee: Any, types: Any) -> str | None:
        """What the version of a unit computes, if a process that has found this kernel need not ask again."""
        return callee.called.computed(types) if keys.is_implied(self._kernel.kernel, callee, types) else None


@functools.cache  # once for a process: there may be thousands
def _forget_old_files(folder: Path) -> None:
    for path in folder.glob("*-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime >= _FORGOTTEN_AFTER:
                path.unlink()


def checksum(name: str, body: bytes) -> bytes:
    """What a file of that name begins with, before its body."""
    digest = hashlib.sha256(f"{name}\0".encode())
    digest.update(body)
    return digest.digest()


def for_packs(path: Path) -> tuple[str, bytes] | None:
    """What a pack keeps of a file of ours, and under which name; None of parts, which are in the code of others."""
    name, body = _NAME.fullmatch(path.name), _content(path)
    if name is None or body is None:
        raise ValueError(f"{path}: this is not a kernel that was compiled here")
    return None if path.suffix == KERNEL and numba_names.is_part(body) else (name["key"] + path.suffix, body)


def _remark() -> str | None:
    """What the pack has to do with a wait for the compiler, for the line on stderr."""
    pack = installed_pack()
    return f"the kernel pack is not used: {pack.fault}" if pack and pack.fault else None


def _content(path: Path) -> bytes | None:
    """What was written to a file; None if that is not what it holds, or may not be."""
    try:
        with open(path, "rb") as file:
            status, content = os.fstat(file.fileno()), file.read()
        suspicion = why_foreign_file(status)
    except OSError:
        return None
    seal, body = content[:32], content[32:]
    if suspicion or seal != checksum(path.name, body):
        return None
    if time.time() - status.st_mtime > _DAY:
        with contextlib.suppress(OSError):  # the folder may be shared and read-only
            os.utime(path)  # files in use are not evicted
    return body


def _write(path: Path, needs: Any, result: Any) -> bool:
    reason: object = why_not_kept()
    if not reason:
        try:
            _put(path, numba_names.packed(needs, result))
            return True
        except Exception as error:  # a full disk, something that cannot be pickled: it works all the same
            reason = error
    progress.complain(reason)
    return False


def _put(path: Path, body: bytes) -> None:
    """Write a file at once: a reader finds all of it, or nothing."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
    try:
        with open(handle, "wb") as file:
            file.write(checksum(path.name, body) + body)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
