"""The columns of an HDF5 file from an untrusted source.

HDF5 follows what a file names: other files for links, for raw numbers and for datasets made of others', and programs
for filters. Nothing of this is followed here. Compressed chunks are inflated once by ourselves, up to the size that
they say they have, before the library, which inflates without end, is let near them.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._extras import require_module
from kinemorph._files import FileError, quoted
from kinemorph.spatial.pose import Array

LARGEST_TABLE_BYTES = 1 << 30  # bytes
MOST_COLUMNS = 100_000
MOST_CHUNKS = 1 << 18  # of a column
ALWAYS = 1 << 28  # bytes of numbers that any file may have; a larger one may have
EACH_BYTE = 8  # so many for each of its own, for its numbers may be of one byte


def h5py() -> Any:
    """The library, or a sentence that says how to get it."""
    return require_module("h5py", "io", "HDF5 files")


def load_hdf5(path: Path) -> dict[str, Array]:
    """The columns of numbers in the outermost group of a file, by name."""
    if not path.is_file():
        raise FileError(f"{path}: there is no such file")
    size = path.stat().st_size
    if size > LARGEST_TABLE_BYTES:
        raise FileError(f"{path}: it has {size} bytes, the limit is {LARGEST_TABLE_BYTES}")
    library = h5py()
    try:
        with library.File(path, "r") as file:
            return _columns(library, file, path, min(LARGEST_TABLE_BYTES, max(ALWAYS, EACH_BYTE * size)))
    except FileError:
        raise
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, MemoryError, OverflowError) as error:  # of h5py
        why = (str(error).splitlines() or ["it is damaged"])[0][:200]
        raise FileError(f"{path}: this is not an HDF5 file that can be read: {why}") from None


def _columns(library: Any, file: Any, path: Path, most: int) -> dict[str, Array]:
    if len(file) > MOST_COLUMNS:
        raise FileError(f"{path}: it has {len(file)} columns, the limit is {MOST_COLUMNS}")
    found: dict[str, Array] = {}
    left = most
    for name in file:
        what = f"{path}: column {quoted(name)}"
        if not isinstance(file.get(name, getlink=True), library.HardLink):
            raise FileError(f"{what} is a link to somewhere else; a table must hold its numbers itself")
        item = file[name]
        if not isinstance(item, library.Dataset):
            continue
        _check_layout(library, item, what)
        if item.ndim != 1 or item.dtype.kind not in "biuf":
            continue
        needed = item.size * max(8, item.dtype.itemsize)
        if needed > left:
            raise FileError(
                f"{what} has {item.size} numbers; all columns may have {most} bytes, of which {left} are left"
            )
        left -= needed
        _check_chunks(item, what, most)
        found[name] = item[:].astype(np.float64)
    return found


def _check_layout(library: Any, item: Any, what: str) -> None:
    """Raise if numbers are in other files, or need more than the library itself to be read.

    A virtual dataset opens its sources when it is asked how long it is: this comes first.
    """
    plan = item.id.get_create_plist()
    if plan.get_layout() == library.h5d.VIRTUAL or plan.get_external_count():
        raise FileError(f"{what} has its numbers in another file; a table must hold them itself")
    known = (library.h5z.FILTER_DEFLATE, library.h5z.FILTER_SHUFFLE, library.h5z.FILTER_FLETCHER32)
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    if len(set(filters)) < len(filters) or not set(filters) <= set(known):
        raise FileError(f"{what} is packed by a filter that is not read here; write it plain or with gzip")


def _check_chunks(item: Any, what: str, most: int) -> None:
    """Raise if chunks are bigger than they may be, or inflate to more than they say."""
    if item.chunks is None:
        return
    step = item.chunks[0]
    nominal = step * item.dtype.itemsize
    if nominal > most or -(-item.size // step) > MOST_CHUNKS:
        raise FileError(f"{what} is in chunks of {step} numbers, which are too big or too many; write it plain")
    if item.compression is None:
        return
    for start in range(0, item.size, step):
        if item.id.get_chunk_info_by_coord((start,)).byte_offset is None:
            continue  # it was never written
        skipped, content = item.id.read_direct_chunk((start,))
        if skipped or not _inflates_to(content, nominal):
            raise FileError(f"{what}: its chunk at {start} does not inflate to {nominal} bytes; it is damaged")


def _inflates_to(content: bytes, size: int) -> bool:
    inflating = zlib.decompressobj()
    try:
        return len(inflating.decompress(content, size + 1)) == size and inflating.eof
    except zlib.error:
        return False
