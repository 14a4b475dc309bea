"""TOML files as settings of some kind: read whole, checked before anything is started, wrong places by their line."""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from kinemorph._files import FileError, quoted, read_bytes

LARGEST_TOML_BYTES = 1 << 20  # bytes of a file
_LONGEST_PLACE = 1000  # characters of a place that are looked for
_SHOWN_SETTINGS = 12  # names of settings that an error lists at most, if one of them is near

_LONG_KEY = re.compile(
    r"""(?<![\w\\-])(?:(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)[ \t]*+\.[ \t]*+){64}"""
)  # tomllib takes longer and longer for each part of a key. No key begins after a backslash

Where = Callable[[str], str]  # what to say of a place such as `budget.generations` or `body[3].size[0]`


class Toml:
    """A TOML file: its table, and in which line each of its values is."""

    def __init__(self, file: Path | str) -> None:
        self.file = Path(file)
        try:
            self.text = read_bytes(self.file, LARGEST_TOML_BYTES).decode()
            self.table = table_of(self.text)
        except FileError:
            raise
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise FileError(f"{self.file}: this is not TOML: {str(error)[:200]}") from None
        except (RecursionError, ValueError) as error:  # brackets without end; a number of thousands of digits
            raise FileError(f"{self.file}: this TOML cannot be read: {str(error)[:200]}") from None
        self._lines: dict[str, int] | None = None

    def where(self, place: str) -> str:
        """`file:7` if what is at the place, or the nearest thing around it, is in line 7."""
        if self._lines is None:
            self._lines = lines_of(self.text)
        while place:
            for one in (place, f"{place}[0]"):
                if one in self._lines:
                    return f"{self.file}:{self._lines[one]}"
            place = place[:_LONGEST_PLACE]  # names in it may be any text: each turn must leave less of it
            place = place[: max(place.rfind("."), place.rfind("["), 0)]
        return str(self.file)

    def error(self, place: str, what: str) -> FileError:
        """The error at a place, as one sentence."""
        return FileError(f"{self.where(place)}: {place}: {what}" if place else f"{self.file}: {what}")

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Put the place in the file before the message of an error in this block."""
        try:
            yield
        except FileError as error:
            if str(error).startswith(str(self.file)):
                raise
            raise self.error(place, str(error)) from None
        except (ValueError, TypeError, LookupError, ArithmeticError, OSError, RuntimeError) as error:
            words = error.args[0] if isinstance(error, LookupError) and error.args else error
            raise self.error(place, str(words)) from error


def table_of(text: str) -> dict[str, Any]:
    """The table that is a text. ValueError if it is none, RecursionError if it is too deep."""
    if _LONG_KEY.search(text):
        raise ValueError("a key has more than 64 parts")
    return tomllib.loads(text)


def merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The changes put into the table, group by group."""
    result = dict(table)
    for name, value in changes.items():
        inner = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merged(result[name], value) if inner else value
    return result


def checked(kind: Any, table: dict[str, Any], where: Where = lambda place: "settings") -> Any:
    """A table as settings of some kind, or a sentence that says where it is wrong, and how."""
    try:
        return msgspec.convert(table, kind, str_keys=True)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        place = place.strip("`.")
        what = f"{what[:1].lower()}{what[1:]}".replace(" | null`", "`")  # what may be left out; TOML has no null
        if unknown := re.search(r"unknown field `(.*?)`", what, re.DOTALL):
            what = _unknown(unknown[1], _fields(kind, place))
            place = f"{place}.{unknown[1]}".strip(".")
        elif (value := value_at(table, place)) is not None:
            values = [
                str(v) for type in _types(kind, place) if isinstance(type, inspect.LiteralType) for v in type.values
            ]
            if what.startswith("invalid enum value"):
                what = f"it must be one of {', '.join(values)}"
            elif "matching regex" in what:
                what = "there are characters in it that a name cannot have"
            what = f"{what}; it is {value}"
        at = f": {shown(place)}" if place else ""
        raise FileError(f"{where(place)}{at}: {what}") from None
    except RecursionError:
        raise FileError(f"{where('')}: tables are in each other deeper than can be read") from None


def refuse_unknown(known: Collection[str], table: dict[str, Any], where: Where, group: str = "") -> None:
    """Raise if there is a setting that there is not: what is made of a table may take no notice of it."""
    for name in table:
        if name not in known:
            place = f"{group}{name}"
            raise FileError(f"{where(place)}: {shown(place)}: {_unknown(name, list(known))}")


def nearest_name(name: str, known: list[str], noun: str) -> str:
    """`there is no body "bal"; did you mean "ball"?`, or what there is."""
    close = difflib.get_close_matches(name[:100], known, 1)
    if close:
        return f"there is no {noun} {quoted(name)}; did you mean {quoted(close[0])}?"
    listed = ", ".join(map(quoted, known[:_SHOWN_SETTINGS])) + (", ..." if known[_SHOWN_SETTINGS:] else "")
    return f"there is no {noun} {quoted(name)}; {f'there are {listed}' if known else 'there are none'}"


def shown(place: str) -> str:
    """A place as errors repeat it."""
    return place if len(place) <= 120 and place.isprintable() else quoted(place)


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return "there is no such setting"
    close = difflib.get_close_matches(name[:100], known, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"there is no such setting; there are {', '.join(known)}{hint}"


def value_at(table: Any, place: str) -> str | None:
    """The value at a place, as an error repeats it; None if there is none, or one that says nothing."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        try:
            table = table[name] if name else table[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):  # a number of thousands of digits
            return None
    if isinstance(table, str):
        return quoted(table)
    return quoted(repr(table))[1:-1] if isinstance(table, int | float | list) else None


def _fields(kind: Any, place: str) -> list[str]:
    """The settings that there are at a place."""
    return [one.name for type in _types(kind, place) if isinstance(type, inspect.StructType) for one in type.fields]


def _types(kind: Any, place: str) -> list[Any]:
    """The types that a value at a place may have."""
    found = [inspect.type_info(kind)]
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]", place):
        inner: list[Any] = []
        for one in _single(found):
            if name and isinstance(one, inspect.StructType):
                inner += [field.type for field in one.fields if field.name == name]
            elif index and isinstance(one, inspect.VarTupleType | inspect.ListType):
                inner.append(one.item_type)
            elif index and isinstance(one, inspect.TupleType):
                inner += one.item_types
        found = inner
    return _single(found)


def _single(types: list[Any]) -> list[Any]:
    """Types with unions and what is known of their values taken apart."""
    result: list[Any] = []
    for one in types:
        if isinstance(one, inspect.Metadata):
            result += _single([one.type])
        else:
            result += _single(list(one.types)) if isinstance(one, inspect.UnionType) else [one]
    return result


def refuse_not_finite(toml: Toml, table: Any | None = None, place: str = "") -> None:
    """Raise if there is a NaN or an infinity anywhere in a file."""
    table = toml.table if table is None else table
    if isinstance(table, float) and not math.isfinite(table):
        raise toml.error(place, f"{table} is not finite; leave the setting out where it has no bound")
    for name, value in table.items() if isinstance(table, dict) else ():
        refuse_not_finite(toml, value, f"{place}.{name}".lstrip("."))
    for k, value in enumerate(table) if isinstance(table, list) else ():
        refuse_not_finite(toml, value, f"{place}[{k}]")


def path_inside_folder(toml: Toml, place: str, path: str) -> Path:
    """A path in the folder of a file, links followed; one that leads out of it is refused."""
    folder = os.path.realpath(toml.file.parent)
    try:
        real = Path(os.path.realpath(os.path.join(folder, path)))
    except ValueError:  # a NUL in it
        raise toml.error(place, f"{quoted(path)} is no path") from None
    if os.path.isabs(path) or not real.is_relative_to(folder) or real == Path(folder):
        raise toml.error(place, f"{quoted(path)} is not in the folder of this file; put it there")
    if not real.is_file():
        raise toml.error(place, f"there is no file {quoted(path)} in {folder}")
    return real


# ------------------------------------------------------------------------------------------------- where things are

_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"[ \t]*(?:\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*(\.)?")
_TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]+")


def lines_of(text: str) -> dict[str, int]:
    """The line of each value of a text that is TOML, by its place."""
    try:
        return _Lines(text).found
    except RecursionError:  # an error without a line is better than none
        return {}


class _Lines:
    """Goes through a text that has been read as TOML before, and notes where values begin."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.found = text, 0, dict[str, int]()
        self.ends = [match.start() for match in re.finditer("\n", text)]
        counts: dict[str, int] = {}
        group = ""
        self._skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                many = self.text.startswith("[[", self.at)
                begin, self.at = self.at, self.at + 1 + many
                names = self._key()
                group = self._within(names[:-1], counts, names[-1])
                if many:
                    counts[group] = counts.get(group, -1) + 1
                    group = f"{group}[{counts[group]}]"
                self._note(group, begin)
                self.at += 1 + many
            else:
                begin = self.at
                place = ".".join(filter(None, [group, *self._key()]))
                self._note(place, begin)
                self.at += 1  # the =
                self._value(place)
            before = self.at
            self._skip()
            if self.at == before and self.at == begin:  # not TOML after all
                return

    def _within(self, outer: list[str], counts: dict[str, int], last: str) -> str:
        """A header's place: [body.size] is of the last of the [[body]]."""
        place = ""
        for name in outer:
            place = f"{place}.{name}".lstrip(".")
            if place in counts:
                place = f"{place}[{counts[place]}]"
        return f"{place}.{last}".lstrip(".")

    def _note(self, place: str, at: int) -> None:
        self.found.setdefault(place, bisect_left(self.ends, at) + 1)

    def _skip(self) -> None:
        self.at = _SKIP.match(self.text, self.at).end()  # type: ignore[union-attr]

    def _key(self) -> list[str]:
        names = []
        while match := _KEY.match(self.text, self.at):
            names.append(next(part for part in match.groups()[:3] if part is not None))
            self.at = match.end()
            if not match[4]:
                break
        return names or [""]

    def _value(self, place: str) -> None:
        self._skip()
        char = self.text[self.at : self.at + 1]
        if char == "[":
            self._items(place, "]", lambda k: f"{place}[{k}]")
        elif char == "{":
            self._items(place, "}", None)
        elif match := _TEXT.match(self.text, self.at) or _PLAIN.match(self.text, self.at):
            self.at = match.end()

    def _items(self, place: str, end: str, named: Callable[[int], str] | None) -> None:
        """The items of an array, or the pairs of a table in one line."""
        self.at += 1
        k = 0
        while True:
            self._skip()
            if self.at >= len(self.text) or self.text[self.at] == end:
                self.at += 1
                return
            begin = self.at
            if self.text[begin] == ",":
                self.at += 1
                continue
            if named is None:
                inner = ".".join([place, *self._key()])
                self.at += 1
            else:
                inner = named(k)
            self._note(inner, begin)
            self._value(inner)
            k += 1
            if self.at == begin:  # not TOML after all
                self.at = len(self.text)
