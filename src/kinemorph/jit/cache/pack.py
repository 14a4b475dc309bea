"""The kernel pack: kernels that were compiled elsewhere, from the installed package `kinemorph-kernels`.

Its files are code that will be run, so they come from where packages are installed and from nowhere else, and only what
its manifest lists, with just that content, is read. The manifest says what the machine code was made for; if anything
is different here, the pack is not used, and `fault` says why. `kinemorph.pack` makes packs.
"""

from __future__ import annotations

import functools
import hashlib
import os
import site
from pathlib import Path

import msgspec

from kinemorph._files import SHOWN_VALUE_CHARACTERS, FileError, quoted, read_bytes
from kinemorph.jit.cache.keys import settings, versions
from kinemorph.jit.cache.source_hash import package_digest
from kinemorph.jit.compiler.numba_names import chosen_target, host_features, host_triple

DISTRIBUTION = "kinemorph-kernels"
FOLDER, MANIFEST = "kinemorph_kernels", "manifest.json"
KERNEL, NOTE = ".kernel", ".note"  # how names of files end, in a pack and in the cache
PACK_FORMAT = 1
_LIMIT = 1 << 24  # bytes of a manifest, or of a kernel
_OF_TARGETS = ("CPU_FEATURES", "CPU_NAME", "ENABLE_AVX")  # settings that say no more than the target does


class Manifest(msgspec.Struct, frozen=True):
    """The contents of a pack, and the versions and processor that it was made for."""

    format: int
    sources: str  # a hash of all of kinemorph's
    versions: dict[str, str]
    settings: dict[str, str]  # of Numba
    target: tuple[str, str, str]  # the triple, name and features of the processor
    exercises: list[str]  # of `kinemorph warm`: those that need nothing but the pack
    kernels: dict[str, str]  # by what a kernel computes (`jit.cache.keys.version_key`), the SHA-256 of its file
    notes: dict[str, str] = {}  # by their names (`jit.cache.known_keys.note_name`), the same of these


def settings_of_packs() -> dict[str, str]:
    return {name: value for name, value in settings() if name not in _OF_TARGETS}


class Pack:
    """An installed pack."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: Manifest | None = None
        self.fault: str | None = None  # why it is not used, or not all of it
        try:
            self.manifest = msgspec.json.decode(read_bytes(folder / MANIFEST, _LIMIT), type=Manifest)
            self.fault = _objection(self.manifest)
        except (FileError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            newer = _format(folder / MANIFEST)
            self.fault = newer or f"its manifest cannot be read ({error}); install it again"
        self._used = self.fault is None

    def read(self, key: str) -> bytes | None:
        """A kernel; None if the pack does not have it, or if it is not what the manifest says."""
        return self._read(f"{key}{KERNEL}", self.manifest.kernels.get(key)) if self.manifest else None

    def note(self, name: str) -> bytes | None:
        """A note; None as for kernels."""
        return self._read(f"{name}{NOTE}", self.manifest.notes.get(name)) if self.manifest else None

    def _read(self, name: str, digest: str | None) -> bytes | None:
        if not self._used or digest is None:
            return None
        if not name.isprintable():
            self.fault = f"its manifest names {name!r}; install it again"
            return None
        try:
            content = read_bytes(self.folder / name, _LIMIT)
        except FileError as error:
            self.fault = f"{error}; install it again"
            return None
        if hashlib.sha256(content).hexdigest() == digest:
            return content
        self.fault = f"{self.folder / name} is not what the manifest says; install it again"
        return None

    def check(self) -> str | None:
        """Look at every file. What is wrong with the pack, if anything; `fault` says so from now on."""
        for key in self.manifest.kernels if self.manifest else ():
            self.read(key)
        for name in self.manifest.notes if self.manifest else ():
            self.note(name)
        return self.fault

    def covers(self, exercise: str) -> bool:
        """Whether an exercise needs nothing but the pack, as far as its manifest says."""
        if not self._used or self.manifest is None:
            return False
        return exercise in self.manifest.exercises and self.manifest.sources == package_digest()


def _format(path: Path) -> str | None:
    """What to say about a manifest of a format that is not ours."""
    try:
        number = msgspec.json.decode(path.read_bytes(), type=dict).get("format")
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return None if number == PACK_FORMAT else _of_format(number)


def _of_format(number: object) -> str:
    return f"its format is {number!r}, and this kinemorph reads {PACK_FORMAT}; install the one for this kinemorph"


def _objection(manifest: Manifest) -> str | None:
    """Why machine code that was made for all this cannot be used here; None if it can."""
    if manifest.format != PACK_FORMAT:
        return _of_format(manifest.format)
    for name, here in versions().items():
        if (made_for := manifest.versions.get(name)) != here:
            return f"it was made for {name} {_shown(made_for)}, and this is {here}"
    for name, value in settings_of_packs().items():
        if (made_with := manifest.settings.get(name)) != value:
            return f"it was made with NUMBA_{name} = {_shown(made_with)}, and here it is {value}"
    triple, processor, features = manifest.target
    if triple != host_triple():
        return f"it was made for {_shown(triple)}, and this is {host_triple()}"
    if chosen_target() not in ((None, None), (processor, features)):
        return "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for another processor"
    able = host_features()
    if lacking := [name[1:] for name in features.split(",") if name[:1] == "+" and name[1:] not in able]:
        return f"it needs a processor with {_shown(', '.join(lacking))}"
    return None


def _shown(value: str | None) -> str:
    """What a manifest says: as it is if it is a word or a few, else quoted and cut."""
    text = str(value)
    return text if text.isprintable() and len(text) <= SHOWN_VALUE_CHARACTERS else quoted(text)


@functools.cache
def installed_pack() -> Pack | None:
    """The pack that is installed, if there is one and KINEMORPH_PACK is not 0."""
    if os.environ.get("KINEMORPH_PACK") == "0":
        return None
    places = site.getsitepackages() + ([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])
    return next((Pack(Path(place, FOLDER)) for place in places if Path(place, FOLDER, MANIFEST).exists()), None)
