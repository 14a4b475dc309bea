"""`python -m kinemorph.pack`: compile all that `kinemorph warm --all` compiles, and make a wheel of it.

The wheel, `kinemorph-kernels`, holds machine code for every processor of a kind, here x86-64-v3 (all since about 2013)
or ARMv8, so that nothing is compiled after its installation. Its version names all that the code depends on: the
numbers of kinemorph, Numba, llvmlite and NumPy, three each, and one for the sources; Python is in its tag.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterable
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec
import tyro

from kinemorph.jit import api
from kinemorph.jit.cache import pack
from kinemorph.jit.cache.source_hash import package_digest
from kinemorph.scenes.commands.exercises import EXERCISES
from kinemorph.scenes.commands.warming_bar import processes, with_bar

_X86 = (
    "x86-64-v3",
    "+64bit,+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,"
    "+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave",
)
_ARM = ("generic", "+fp-armv8,+neon")
TARGETS = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM}  # by platform.machine()
_PINNED = ("kinemorph", "numba", "llvmlite", "numpy")


def make(out: Path = Path("dist"), native: bool = False, only: tuple[str, ...] = (), jobs: int | None = None) -> Path:
    """Make a wheel of compiled kernels.

    Args:
        out: Folder for the wheel.
        native: For processors like this one, not for all of its kind; takes what the cache has.
        only: These exercises of `kinemorph warm`, instead of all.
        jobs: How many processes to compile in; by default one for each core.
    """
    names = list(only or EXERCISES)
    if unknown := [name for name in names if name not in EXERCISES]:
        raise ValueError(f"pack: there is no exercise {unknown[0]!r}; there are {', '.join(EXERCISES)}")
    if reason := api.no_cache or api.why_not_kept():
        raise ValueError(f"pack: compiled kernels are not kept: {reason}")
    target = api.target()
    os.environ["KINEMORPH_PACK"] = "0"  # for the processes that compile
    if not native:
        target = (target[0], *_portable(platform.machine()))
        os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = target[1:]
    outcomes = with_bar(names, processes(jobs))
    if faults := [f"{name}: {done.fault}" for name, done in outcomes.items() if done.fault]:
        raise ValueError(f"pack: {faults[0]}")
    return wheel_of({file for done in outcomes.values() for file in done.files}, names, target, out)


def wheel_of(files: Iterable[Path], exercises: list[str], target: tuple[str, str, str], out: Path) -> Path:
    """A wheel of files from the cache, which must have been compiled for that target."""
    content = dict(found for file in sorted(files) if (found := api.for_packs(file)))
    digests = {name: hashlib.sha256(body).hexdigest() for name, body in content.items()}
    manifest = pack.Manifest(
        format=pack.PACK_FORMAT,
        sources=package_digest(),
        versions=api.versions(),
        settings=pack.settings_of_packs(),
        target=target,
        exercises=exercises,
        kernels={Path(name).stem: digest for name, digest in digests.items() if name.endswith(pack.KERNEL)},
        notes={Path(name).stem: digest for name, digest in digests.items() if name.endswith(pack.NOTE)},
    )
    out.mkdir(parents=True, exist_ok=True)
    return _write_wheel(out, manifest, content)


def _portable(machine: str) -> tuple[str, str]:
    if machine not in TARGETS:
        raise ValueError(f"pack: there is no portable target for {machine!r}; --native makes a pack for this machine")
    return TARGETS[machine]


def pack_version(sources: str) -> str:
    """The numbers of all that machine code depends on."""
    numbers = [_three_numbers(package, version(package)) for package in _PINNED]
    return ".".join([*numbers, str(int(sources[:8], 16))])


def _three_numbers(package: str, text: str) -> str:
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\+.*)?", text)
    if found is None:
        raise ValueError(f"pack: {package} {text} is no released version, so no wheel can ask for it")
    return ".".join(number or "0" for number in found.groups())


def _tags() -> list[str]:
    """The wheel runs where this very Numba does: its tags are the tags of Numba's."""
    text = distribution("numba").read_text("WHEEL") or ""
    return re.findall(r"^Tag: (\S+)$", text, re.MULTILINE)


def _file_tag(tags: list[str]) -> str:
    """All tags in one, as names of wheels have them: cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64."""
    return "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*(tag.split("-") for tag in tags), strict=True))


def _write_wheel(out: Path, manifest: pack.Manifest, files: dict[str, bytes]) -> Path:
    number, tags = pack_version(manifest.sources), _tags()
    name = f"{pack.FOLDER}-{number}"
    pins = "".join(f"Requires-Dist: {package}=={version(package)}\n" for package in _PINNED)
    major, minor = sys.version_info[:2]
    metadata = (
        f"Metadata-Version: 2.4\nName: {pack.DISTRIBUTION}\nVersion: {number}\n"
        f"Summary: The kernels of kinemorph, compiled for {manifest.target[1]}\nLicense-Expression: Apache-2.0\n"
        f"Requires-Python: =={major}.{minor}.*\n{pins}"
    )
    wheel = "Wheel-Version: 1.0\nGenerator: kinemorph.pack\nRoot-Is-Purelib: false\n"
    content = {
        f"{pack.FOLDER}/__init__.py": b'"""Compiled kernels of kinemorph: see manifest.json."""\n',
        f"{pack.FOLDER}/{pack.MANIFEST}": msgspec.json.format(msgspec.json.encode(manifest), indent=1),
        **{f"{pack.FOLDER}/{name}": body for name, body in sorted(files.items())},
        f"{name}.dist-info/METADATA": metadata.encode(),
        f"{name}.dist-info/WHEEL": (wheel + "".join(f"Tag: {tag}\n" for tag in tags)).encode(),
    }
    record = "".join(f"{path},sha256={_short(body)},{len(body)}\n" for path, body in content.items())
    content[f"{name}.dist-info/RECORD"] = f"{record}{name}.dist-info/RECORD,,\n".encode()
    path = out / f"{name}-{_file_tag(tags)}.whl"
    partial = path.with_suffix(".partial")
    with ZipFile(partial, "w", ZIP_DEFLATED) as archive:
        for inner, body in content.items():
            entry = ZipInfo(inner)  # with the date 1980-01-01: the same content is the same file
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, body)
    os.replace(partial, path)
    return path


def _short(body: bytes) -> str:
    """A SHA-256 as wheels write it."""
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()


def main(arguments: Any = None) -> None:
    try:
        path = tyro.cli(make, prog="python -m kinemorph.pack", description=__doc__, args=arguments)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    except ValueError as error:
        print(f"kinemorph: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
