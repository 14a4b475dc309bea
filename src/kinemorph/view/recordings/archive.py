"""Named arrays in one file: an .npz that NumPy opens too, read here so that no file can do harm. No pickle."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from kinemorph._files import FileError, PathLike, quoted, read_bytes, write_whole

Array = np.ndarray[Any, np.dtype[Any]]

LARGEST_ARCHIVE_BYTES = 2**31  # bytes of a file, and of all its arrays once unpacked
# Bytes that its arrays may take: so many, and so many for each byte of the file. Zeros pack a thousandfold.
ROOM, ROOM_PER_BYTE = 2**28, 64
LEAST_HEADER_BYTES = 1 << 10  # bytes, no less than any header of an array has
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip file knows: the same content makes the same bytes


def write_arrays(path: PathLike, arrays: Mapping[str, Array]) -> None:
    """Write arrays of numbers under their names, compressed, unless they shrink by more than a reader believes."""
    content = _packed(arrays, zipfile.ZIP_DEFLATED)
    headers = LEAST_HEADER_BYTES * len(arrays)
    if headers + sum(array.nbytes for array in arrays.values()) > _allowed(len(content)):
        content = _packed(arrays, zipfile.ZIP_STORED)
    write_whole(path, content)


def _packed(arrays: Mapping[str, Array], how: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{name}.npy", DATE), member.getvalue(), how, 6)
    return content.getvalue()


def _allowed(size: int) -> int:
    """Bytes that all arrays of a file of so many bytes may take."""
    return ROOM + ROOM_PER_BYTE * size


def read_arrays(path: PathLike, limit: int = LARGEST_ARCHIVE_BYTES) -> dict[str, Array]:
    """The arrays of a file. Any fault of the file raises FileError; nothing bigger than `limit` is unpacked."""
    content = read_bytes(path, limit)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = file.infolist()
            size, most = sum(m.file_size for m in members), min(limit, _allowed(len(content)))
            if size > most:
                raise FileError(f"{path}: its arrays have {size} bytes, the limit is {most}")
            arrays = {}
            for member in members:
                with file.open(member) as stream:
                    arrays[member.filename.removesuffix(".npy")] = _array(path, member, stream)
            return arrays
    except FileError:
        raise
    except Exception as error:  # zipfile and zlib raise half a dozen kinds for bytes that make no sense to them
        raise FileError(f"{path}: it is damaged, or not a file of arrays: {quoted(str(error))}") from None


def _array(path: PathLike, member: zipfile.ZipInfo, stream: IO[bytes]) -> Array:
    """One array. Its header must ask for the bytes that are there: nothing is allocated on its word alone."""
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(stream)
    there = member.file_size - stream.tell()
    if dtype.kind not in "biuf" or fortran or math.prod(shape) * dtype.itemsize != there:
        raise FileError(
            f"{path}: array {quoted(member.filename)} is {quoted(str(dtype))} of shape {shape} in {there} bytes"
        )
    return np.frombuffer(stream.read(), dtype).reshape(shape)
