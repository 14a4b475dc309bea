"""How to spoil files whose format is known: one field, element or member is another, and all else still fits.

Every function takes a content, the contents of other files of the kind, and a generator, and returns a content.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import math
import re
import sqlite3
import struct
import warnings
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from tests.fuzz import mutated

from kinemorph.world.persistence import journal, snapshot
from kinemorph.world.persistence.codec import PLAIN
from kinemorph.world.persistence.kept_classes import LAYOUTS

Rng = np.random.Generator
WHOLE = (
    0, 1, -1, -2, 2, 3, 5, 7, 8, 16, 63, 64, 100, 255, 256, 1000, 2**15, 2**24, 2**31 - 1, -(2**31), 2**31, 2**32 - 1,
    2**40, 2**62, 2**63 - 1, -(2**63),
)  # fmt: skip
REAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e-30, 1e9, 1e30, 1e308, -1e308, math.nan, math.inf, -math.inf, 2.0**63)
WORDS = (
    "", " ", "\n", "world", "ground", "../../../etc/passwd", "/etc/passwd", "C:\\x", "\x00", "\u202e", "x" * 3000,
    "<img src=x onerror=alert(1)>", "subprocess:Popen", "os:system", "__class__", "%s%n", "{0.__class__}", "nan",
    "1e400", "'; DROP TABLE run; --", "package://a/../../b.stl", "\ud7ff\uffff", "🐍" * 40, "/dev/zero",
)  # fmt: skip


def choice(values: Any, rng: Rng) -> Any:
    return values[int(rng.integers(len(values)))]


# ---------------------------------------------------------------------------------------------------- values of JSON


def leaf(rng: Rng) -> Any:
    """A value that should not be there."""
    kinds = (WHOLE, WHOLE, REAL, WORDS, (None, True, False, [], {}, 2**63, 2**64, 10**30, [[]], [None] * 500))
    return copy.deepcopy(choice(choice(kinds, rng), rng))


def places(value: Any) -> list[tuple[Any, Any]]:
    """All places in a value: who holds it, and under which index or name."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        keys = range(len(one)) if isinstance(one, list) else list(one) if isinstance(one, dict) else ()
        for key in keys:
            found.append((one, key))
            waiting.append(one[key])
    return found


def spoil_value(value: Any, rng: Rng, strange: Callable[[Rng], Any] = leaf) -> Any:
    """A value of JSON with one place changed."""
    found = places(value)
    if not found:
        return strange(rng)
    holder, key = choice(found, rng)
    other, elsewhere = choice(found, rng)
    what = int(rng.integers(9))
    if what < 4:
        old = holder[key]
        near = isinstance(old, int | float) and not isinstance(old, bool) and rng.random() < 0.3
        holder[key] = old + choice((-1, 1, 0.5), rng) if near and abs(old) < 1e300 else strange(rng)
    elif what == 4:
        del holder[key]
    elif what == 5:
        if isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(holder[key])] * int(rng.integers(1, 30))
        else:
            holder[choice(WORDS, rng)] = copy.deepcopy(holder[key])
    elif what == 6:
        holder[key], other[elsewhere] = copy.deepcopy(other[elsewhere]), copy.deepcopy(holder[key])
    elif what == 7:
        holder[key] = copy.deepcopy(other[elsewhere])
    else:
        for _ in range(int(choice((1, 5, 60, 400), rng))):
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"a": holder[key]}
    return value


def spoil_json(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    if rng.random() < 0.3:
        return mutated(content, others, rng)
    value = json.loads(content)
    for _ in range(int(rng.integers(1, 3))):
        value = spoil_value(value, rng)
    with contextlib.suppress(RecursionError, ValueError):
        return json.dumps(value).encode(errors="surrogatepass")
    return content


# --------------------------------------------------------------------------------------------------- numbers in bytes


def spoil_words(content: bytes, rng: Rng, start: int = 0) -> bytes:
    """A few numbers of two, four or eight bytes, at multiples of their size, are others."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        code = choice("hiqfd", rng)
        size = struct.calcsize(code)
        if len(changed) < start + size:
            return content
        at = start + size * int(rng.integers((len(changed) - start) // size))
        if code in "fd":
            number = choice(REAL, rng)
            raw = struct.pack("<d", number) if code == "d" else np.float32(max(-3e38, min(number, 3e38))).tobytes()
        else:
            raw = (choice(WHOLE, rng) & (1 << 8 * size) - 1).to_bytes(size, "little")
        changed[at : at + size] = raw
    return bytes(changed)


def spoil_array(array: Any, rng: Rng) -> None:
    """One number of an array, of plain numbers or of rows, is another."""
    if array.dtype.names is not None:
        spoil_array(array[choice(array.dtype.names, rng)], rng)
        return
    if not array.size:
        return
    at = int(rng.integers(array.size))
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    old = flat[at]
    way = rng.random()
    with np.errstate(all="ignore"):
        if way < 0.2:
            flat[at] = flat[int(rng.integers(array.size))]
        elif array.dtype.kind == "f":
            flat[at] = choice(REAL, rng) if way < 0.7 else old * choice((2.0, -1.0, 1e-9, 1e9), rng)
        elif way < 0.5:
            flat[at] = max(0, int(old) + choice((-1, 1), rng)) if abs(int(old)) < 100 else int(old) // 2
        else:
            size = 8 * array.dtype.itemsize
            bits = np.array(choice(WHOLE, rng) & (1 << size) - 1, np.uint64)
            flat[at] = bits.astype(f"u{size // 8}").view(array.dtype)


# ------------------------------------------------------------------------------------ snapshots, journals and films


def parts_of(content: bytes) -> tuple[Any, list[Any]]:
    """The text of what `codec` has written, and the arrays that it speaks of."""
    size = int.from_bytes(content[:8], "little")
    text = msgspec.json.decode(content[8 : 8 + size])
    at, arrays = 8 + size + -size % 8, []
    for name, shape in text["arrays"]:
        dtype = np.dtype(PLAIN.get(name) or LAYOUTS[name])
        count = math.prod(shape)
        arrays.append(np.frombuffer(content, dtype, count, at).reshape(shape).copy())
        at += count * dtype.itemsize + -(count * dtype.itemsize) % 8
    return text, arrays


def content_of(text: Any, arrays: list[Any]) -> bytes:
    """The content again, whatever has become of both."""
    head = msgspec.json.encode(text)
    pieces = [len(head).to_bytes(8, "little"), head, b" " * (-len(head) % 8)]
    for array in arrays:
        raw = array.tobytes()
        pieces += [raw, bytes(-len(raw) % 8)]
    return b"".join(pieces)


def kept_value(rng: Rng) -> Any:
    """A value as `codec` writes them, that should not be there."""
    if rng.random() < 0.5:
        return choice((*WHOLE, *(x for x in REAL if math.isfinite(x)), *WORDS, None, True, False), rng)
    special: tuple[Any, ...] = (
        ["f", "nan"], ["f", "inf"], ["f", "-inf"], ["t"], ["l"], ["d"], ["s"], ["t", 1, 2.0], ["l", -1], ["d", [0, 0]],
        ["a", int(rng.integers(80))], ["o", int(rng.integers(30))], ["q"], [], {}, ["l", ["l", ["l"]]], 2**64, 10**40,
    )  # fmt: skip
    return copy.deepcopy(choice(special, rng))


def spoil_content(content: bytes, rng: Rng) -> bytes:
    """A content with something wrong in an array, its length, or the text."""
    text, arrays = parts_of(content)
    for _ in range(int(rng.integers(1, 3))):
        way = rng.random()
        if way < 0.6 and arrays:
            k = int(rng.integers(len(arrays)))
            inside = arrays[k].dtype == np.uint8 and arrays[k].tobytes()[:8] == snapshot.SNAPSHOT_MAGIC
            if inside and rng.random() < 0.8:  # the world of a journal
                arrays[k] = np.frombuffer(spoil_snapshot(arrays[k].tobytes(), [], rng), np.uint8).copy()
                text["arrays"][k][1] = [len(arrays[k])]
            else:
                spoil_array(arrays[k], rng)
        elif way < 0.7 and arrays:
            k = int(rng.integers(len(arrays)))
            rows, n = arrays[k], len(arrays[k])
            arrays[k] = choice((rows[: n // 2], np.concatenate([rows, rows]), rows[::-1], rows[:0]), rng).copy()
            text["arrays"][k][1] = list(arrays[k].shape)
        elif way < 0.97:
            spoil_value(choice((text["things"], text["things"], text["value"]), rng), rng, kept_value)
        else:
            text["arrays"] = spoil_value(text["arrays"], rng)
            break
    with contextlib.suppress(RecursionError, ValueError, TypeError, msgspec.MsgspecError):
        return content_of(text, arrays)
    return content


def spoil_rows(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    """A snapshot with a field of the rows of a table spoiled: each field as likely as any other, near what it was.

    `spoil_content` draws tables by their number, so most of what it changes are plain numbers, and few values are near.
    """
    text, arrays = parts_of(content[snapshot.SNAPSHOT_HEAD_BYTES :])
    tables = [k for k, array in enumerate(arrays) if array.dtype.names and len(array)]
    for _ in range(int(rng.integers(1, 4))):
        layouts = sorted({text["arrays"][k][0] for k in tables})
        fields = [(layout, name) for layout in layouts for name in LAYOUTS[layout].names]
        layout, name = choice(fields, rng)
        same = [k for k in tables if text["arrays"][k][0] == layout]
        rows = arrays[choice(same, rng)]
        way = int(rng.integers(12))
        if way < 9:
            _spoil_column(rows[name], rng)
        elif way == 9:
            rows[int(rng.integers(len(rows)))] = rows[int(rng.integers(len(rows)))]
        elif way == 10:
            rows[:] = rows[rng.permutation(len(rows))]
        else:  # two tables of a kind, or of a size, in each other's place
            k, other = choice(same, rng), choice(same, rng)
            arrays[k], arrays[other] = arrays[other], arrays[k]
            text["arrays"][k], text["arrays"][other] = text["arrays"][other], text["arrays"][k]
    return snapshot.sealed(snapshot.SNAPSHOT_MAGIC, snapshot.SNAPSHOT_VERSION, content_of(text, arrays))


def _spoil_column(column: Any, rng: Rng) -> None:
    """An entry of a column, or all of them, is another number that may make sense."""
    flat = column.reshape(len(column), -1)
    row = slice(None) if rng.random() < 0.2 else int(rng.integers(len(flat)))
    at = row, int(rng.integers(flat.shape[1])) if flat.shape[1] else 0
    if not flat.size:
        return
    if flat.dtype.names:
        _spoil_column(column[choice(flat.dtype.names, rng)], rng)
    elif flat.dtype.kind == "f":
        with np.errstate(all="ignore"):
            flat[at] = choice((*REAL, *(flat[at] * choice((-1.0, 2.0, 1e-9, 1e9, 1e200), rng),) * 5), rng)
    elif flat.dtype.kind in "iu":
        last, bits = int(flat.max()), 8 * flat.dtype.itemsize
        near = (0, 1, 2, 3, -1, -2, -3, last, last + 1, len(flat), len(flat) - 1, 2**32, 2**32 + 1, 1000, 2**62)
        new = choice((*near, *map(int, flat.ravel()[:3])), rng)
        old = int(np.atleast_1d(flat[at])[0])
        if rng.random() < 0.4:
            new = old + choice((-1, 1, 1 << 32, -2, 2), rng)
        flat[at] = np.array(new & (1 << bits) - 1, np.uint64).astype(f"u{bits // 8}").view(flat.dtype)


def spoil_snapshot(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    if rng.random() < 0.05:
        return mutated(content, others, rng)
    inside = content[snapshot.SNAPSHOT_HEAD_BYTES :]
    spoiled = spoil_words(inside, rng) if rng.random() < 0.1 else spoil_content(inside, rng)
    return snapshot.sealed(snapshot.SNAPSHOT_MAGIC, snapshot.SNAPSHOT_VERSION, spoiled)


def spoil_chunks(magic: bytes, version: int) -> Callable[[bytes, list[bytes], Rng], bytes]:
    """For journals and films: one of their chunks is spoiled, gone or there twice."""

    def spoil(content: bytes, others: list[bytes], rng: Rng) -> bytes:
        if rng.random() < 0.1:
            return mutated(content, others, rng)
        chunks, at = [], 0
        while at < len(content):
            end = at + snapshot.SNAPSHOT_HEAD_BYTES + int.from_bytes(content[at + 16 : at + 24], "little")
            chunks.append(content[at + snapshot.SNAPSHOT_HEAD_BYTES : end])
            at = end
        k = int(rng.integers(len(chunks)))
        way = rng.random()
        if way < 0.9:
            chunks[k] = spoil_content(chunks[k], rng)
        elif way < 0.95:
            chunks.insert(k, chunks[int(rng.integers(len(chunks)))])
        else:
            del chunks[k]
        return b"".join(snapshot.sealed(magic, version, chunk) for chunk in chunks)

    return spoil


spoil_journal = spoil_chunks(journal.JOURNAL_MAGIC, journal.JOURNAL_VERSION)

# ----------------------------------------------------------------------------------------------------------- archives


def spoil_npz(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    """An .npz file: bytes, an array, the text in one, or the list of members."""
    if rng.random() < 0.2:
        return mutated(content, others, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = [(member.filename, file.read(member)) for member in file.infolist()]
    k = int(rng.integers(len(members)))
    name, body = members[k]
    way = rng.random()
    if way < 0.1:
        members[k] = choice(("../x.npy", "/tmp/x.npy", "text", "", "a" * 60_000, members[0][0]), rng), body
    elif way < 0.2:
        members = [*members[:k], *members[k + 1 :]] if rng.random() < 0.5 else [*members, members[k]]
    elif way < 0.3:
        members[k] = name, mutated(body, [body], rng)
    else:
        array = np.lib.format.read_array(io.BytesIO(body), allow_pickle=False).copy()
        if name == "text.npy":
            text = json.dumps(spoil_value(json.loads(array.tobytes()), rng))
            array = np.frombuffer(text.encode(errors="surrogatepass"), np.uint8)
        elif way < 0.8:
            spoil_array(array, rng)
        else:
            half = array[: len(array) // 2] if array.ndim else array
            strange = half, array.astype("f4"), array[None], array.ravel()
            array = choice((*strange, np.zeros(3, "U5"), np.zeros((0, 3)), array.astype(complex)), rng)
        made = io.BytesIO()
        np.lib.format.write_array(made, np.asarray(array), allow_pickle=False)
        members[k] = name, made.getvalue()
    out = io.BytesIO()
    how = int(choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), rng))
    with zipfile.ZipFile(out, "w") as file, warnings.catch_warnings(action="ignore"):  # names that are there twice
        for name, body in members:
            file.writestr(zipfile.ZipInfo(name), body, how)
    return out.getvalue()


def spoil_hdf5(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    """An HDF5 file: bytes, or a dataset, group, attribute or link that should not be there."""
    if rng.random() < 0.5:
        return mutated(content, others, rng) if rng.random() < 0.5 else spoil_words(content, rng)
    import h5py

    memory = io.BytesIO(content)
    with h5py.File(memory, "r+") as file:
        name = choice([*list(file), "new"], rng)
        file.pop(name, None)
        way = int(rng.integers(9))
        if way == 0:
            file.create_dataset(name, (2**40,), "f8", chunks=(1024,))
        elif way == 1:
            file.create_dataset(name, (3,), "f8", external=[("/etc/passwd", 0, 24)])
        elif way == 2:
            file[name] = h5py.ExternalLink("/etc/hostname", "/x")
        elif way == 3:
            file[name] = h5py.SoftLink(f"/{choice(list(file) or ['x'], rng)}")
        elif way == 4:
            file[name] = choice((np.zeros((2, 2, 2)), np.array(1.0), np.zeros(0), np.arange(7) + 1j), rng)
        elif way == 5:
            layout = h5py.VirtualLayout((7,), "f8")
            layout[:] = h5py.VirtualSource("/etc/passwd", "x", (7,))
            file.create_virtual_dataset(name, layout)
        elif way == 6:
            file.create_group(name).create_group("deeper")["x"] = 1.0
        elif way == 7:
            file.attrs[choice(WORDS[6:9] + ("model", "kinemorph", "a"), rng).replace("\x00", "n")] = choice(
                (1, 2.5, "text", np.zeros(3), np.zeros((0,))), rng
            )
        else:
            file.create_dataset(name, (7,), h5py.string_dtype(), data=["x\udcff" if k == 3 else "y" for k in range(7)])
    return memory.getvalue()


def spoil_store(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    """A SQLite file: bytes, a field of a row, rows that are gone, or tables that are something else."""
    if rng.random() < 0.15:
        return mutated(content, others, rng) if rng.random() < 0.5 else spoil_words(content, rng)
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        db.deserialize(content)
        for _ in range(int(rng.integers(1, 3))):
            with contextlib.suppress(sqlite3.Error, OverflowError):
                _spoil_table(db, rng)
        return db.serialize()
    finally:
        db.close()


def _spoil_table(db: sqlite3.Connection, rng: Rng) -> None:
    tables = ("run", "run", "run", "generation", "individual", "genome", "standing", "evaluation")
    table = choice(tables, rng)
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    rows = db.execute(f"SELECT * FROM {table}").fetchall()
    way = rng.random()
    if way < 0.04:
        db.execute(f"DROP TABLE {table}")
    elif way < 0.08:
        db.execute(f"ALTER TABLE {table} RENAME COLUMN {choice(columns, rng)} TO x")
    elif way < 0.12:
        db.execute(f"ALTER TABLE {table} RENAME TO old")
        db.execute(f"CREATE VIEW {table} AS SELECT * FROM old {choice(('', 'LIMIT 1', 'ORDER BY 1 DESC'), rng)}")
    elif way < 0.2:
        db.execute(f"DELETE FROM {table} WHERE abs(random()) % 3 = 0")
    elif rows:
        row, column = choice(rows, rng), int(rng.integers(len(columns)))
        new: Any = leaf(rng)
        if isinstance(row[column], str) and rng.random() < 0.7:
            with contextlib.suppress(ValueError, RecursionError):
                new = json.dumps(spoil_value(json.loads(row[column]), rng))
        if isinstance(new, list | dict):
            new = json.dumps(new)
        if isinstance(row[column], bytes):
            new = mutated(row[column], [row[column]], rng)
        same = " AND ".join(f"{name} IS ?" for name in columns)
        db.execute(f"UPDATE {table} SET {columns[column]} = ? WHERE {same}", (new, *row))


# ------------------------------------------------------------------------------------------------------- texts as trees

NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e-?\d+)?")
STRANGE = (*map(str, WHOLE), *map(str, REAL), "", " ", "1 2", "1,2", "0x10", "١", "1e309", "1_0")


def spoil_xml(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    """A file of XML: text, or an element or attribute that is changed, gone, elsewhere, or there many times."""
    if rng.random() < 0.4:
        return mutated(content, others, rng)
    try:
        root = ET.fromstring(content)
    except ET.ParseError:
        return mutated(content, others, rng)
    for _ in range(int(rng.integers(1, 4))):
        elements = [(parent, child) for parent in root.iter() for child in parent]
        if not elements:
            break
        _spoil_element(root, *choice(elements, rng), rng)
    return ET.tostring(root)


def _spoil_element(root: Any, parent: Any, child: Any, rng: Rng) -> None:
    way = int(rng.integers(10))
    if way < 5 and child.attrib:
        name = choice(list(child.attrib), rng)
        value = child.attrib[name]
        if numbers := list(NUMBER.finditer(value)):
            match = choice(numbers, rng)
            child.attrib[name] = value[: match.start()] + choice(STRANGE, rng) + value[match.end() :]
        else:
            names = [one.attrib[name] for one in root.iter() if name in one.attrib]
            child.attrib[name] = choice((*names, *(word for word in WORDS if word.isprintable())), rng)
    elif way == 5:
        parent.remove(child)
    elif way == 6:
        at = list(parent).index(child)
        for _ in range(int(choice((1, 2, 30), rng))):
            parent.insert(at, copy.deepcopy(child))
    elif way == 7:
        target = choice(list(root.iter()), rng)
        target.append(copy.deepcopy(child))
    elif way == 8 and child.attrib:
        del child.attrib[choice(list(child.attrib), rng)]
    elif child.text and (numbers := list(NUMBER.finditer(child.text))):
        match = choice(numbers, rng)
        child.text = child.text[: match.start()] + choice(STRANGE, rng) + child.text[match.end() :]
    else:
        for _ in range(int(choice((1, 20, 300), rng))):
            inner = ET.Element(child.tag, dict(child.attrib))
            inner.append(child if child is not parent else ET.Element("x"))
            child = inner
        parent.append(child)


LINE = re.compile(r"^(\s*[\w.\"-]+\s*=\s*)(.+)$")


def spoil_toml(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    """A TOML file: text, or a value that is another, a key of any text, or lines that are gone or there twice."""
    if rng.random() < 0.4:
        return mutated(content, others, rng)
    lines = content.decode().split("\n")
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(lines)))
        way = rng.random()
        if rng.random() < 0.1:
            key = json.dumps(choice(WORDS, rng) + choice(("", "]", "[", "[0]", ".", "]" * 900), rng))
            lines.insert(at, f"{choice(('', 'name.', 'body.'), rng)}{key} = 1")
        elif match := LINE.match(lines[at]):
            values = [m[2] for line in lines if (m := LINE.match(line))]
            if way < 0.5:
                lines[at] = match[1] + choice((json.dumps(leaf(rng)).replace("NaN", "nan"), choice(values, rng)), rng)
            elif numbers := list(NUMBER.finditer(match[2])):
                number = choice(numbers, rng)
                strange = choice(STRANGE, rng)
                lines[at] = match[1] + match[2][: number.start()] + strange + match[2][number.end() :]
        elif way < 0.3:
            del lines[at : at + int(rng.integers(1, 4))]
        elif way < 0.6:
            end = at + int(rng.integers(1, 8))
            lines[at:at] = lines[at:end] * int(choice((1, 2, 40), rng))
    return "\n".join(lines).encode()


def spoil_text(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    """A file of lines of numbers: text, or a number or two."""
    numbers = list(NUMBER.finditer(text := content.decode()))
    if rng.random() < 0.4 or not numbers:
        return mutated(content, others, rng)
    for _ in range(int(rng.integers(1, 3))):
        number = choice(numbers, rng)
        new = choice(STRANGE, rng) if rng.random() < 0.5 else choice(numbers, rng).group()
        text = text[: number.start()] + new + text[number.end() :]
        numbers = list(NUMBER.finditer(text))
    return text.encode()


def spoil_binary(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    return mutated(content, others, rng) if rng.random() < 0.3 else spoil_words(content, rng)
