"""XML that others wrote, read into plain elements that know their file and line.

Robot files need elements and attributes, nothing else of XML: document types and entities are refused (they are how a
file of one kilobyte becomes gigabytes, or reads other files), and depth and number of elements have a limit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from xml.parsers import expat

from kinemorph._files import FileError, PathLike, quoted, read_bytes

LARGEST_XML_BYTES = 64 * 2**20
MOST_ELEMENTS = 200_000
DEEPEST_XML = 100  # elements in elements, if the caller does not ask for more; URDF needs 6
LARGEST_XML_NUMBER = 1e30  # of a length, mass or inertia: products of several stay finite

# Decimal only: float() would also take "1_000", "nan" and digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBERS = re.compile(rf"\s*(?:{_NUMBER.pattern}\s+)*{_NUMBER.pattern}\s*")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_LONGEST_NUMBER = 64
_CUT_OFF = {
    expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
    expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
}


class Element:
    """One element: what it says, where it stands, and how to complain about it."""

    __slots__ = ("attributes", "children", "line", "parent", "source", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], source: str, line: int, parent: Element | None) -> None:
        self.tag = tag
        self.attributes = attributes
        self.source = source
        self.line = line
        self.parent = parent
        self.children: list[Element] = []
        self.text = ""

    def __str__(self) -> str:
        """The tag with its name, or with the nearest named element around it."""
        name = self.attributes.get("name")
        if name is not None:
            return f"<{self.tag} name={quoted(name)}>"
        outer = self.parent
        while outer is not None and "name" not in outer.attributes:
            outer = outer.parent
        # The root's name is the file's: it does not help to find the place.
        return f"<{self.tag}>" if outer is None or outer.parent is None else f"<{self.tag}> in {outer}"

    @property
    def place(self) -> str:
        """Which element, and where in its file."""
        return f"{self} in line {self.line}"

    def error(self, message: str) -> FileError:
        return FileError(self.says(message))

    def says(self, message: str) -> str:
        return f"{self.source}:{self.line}: {self}: {message}"

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The only child of this tag, None if there is none."""
        found = self.all(tag)
        if len(found) > 1:
            raise self.error(f"there are {len(found)} <{tag}>, but only one can count; delete the others")
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        found = self.one(tag)
        if found is None:
            raise self.error(f"<{tag}> is missing")
        return found

    def attribute(self, name: str) -> str:
        """A text that must be there and say something."""
        value = self.attributes.get(name)
        if value is None:
            raise self.error(f"the attribute {name!r} is missing")
        if not value.strip():
            raise self.error(f"the attribute {name!r} is empty")
        return value

    def number(self, name: str, default: float | None = None, largest: float = LARGEST_XML_NUMBER) -> float:
        if default is not None and name not in self.attributes:
            return default
        value = self.attribute(name)
        return self._numbers(value, 1, largest, name)[0]

    def numbers(self, name: str, count: int, default: Sequence[float] | None = None) -> list[float]:
        if default is not None and name not in self.attributes:
            return list(default)
        value = self.attribute(name)
        return self._numbers(value, count, LARGEST_XML_NUMBER, name)

    def content(self) -> str:
        """The text between the tags, which must say something."""
        value = self.text.strip()
        if not value:
            raise self.error("it is empty")
        return value

    def values(self, count: int, largest: float = LARGEST_XML_NUMBER) -> list[float]:
        """The numbers between the tags."""
        value = self.content()
        return self._numbers(value, count, largest)

    def _numbers(self, value: str, count: int, largest: float, name: str = "") -> list[float]:
        numbers = known_numbers(value)
        if numbers is None or len(numbers) != count or not -largest <= min(numbers) <= max(numbers) <= largest:
            raise self.error(self._fault(value, count, largest, name))
        return [*numbers]

    def _fault(self, value: str, count: int, largest: float, name: str) -> str:
        """The fault of a text that is not this many numbers."""
        words, shown = value.split(), _shown(name, value)
        if len(words) != count:
            return f"{shown}: expected {'one number' if count == 1 else f'{count} numbers with spaces between them'}"
        for word in words:
            if len(word) > _LONGEST_NUMBER or not _NUMBER.fullmatch(word):
                return self._wrong(words, shown)
        word = next(word for word in words if not -largest <= float(word) <= largest)
        return f"{shown}: {word} is too large, the limit is {largest:g}"

    def _wrong(self, words: list[str], shown: str) -> str:
        """The fault of the first word that is not a number."""
        word = next(w for w in words if len(w) > _LONGEST_NUMBER or not _NUMBER.fullmatch(w))
        if _NOT_FINITE.fullmatch(word[:_LONGEST_NUMBER]):
            return f"{shown}: {word} is not finite; write a number"
        return f"{shown}: {quoted(word)} is not a number; write it like -1.5 or 2e-3"


@lru_cache(maxsize=512)
def known_numbers(text: str) -> tuple[float, ...] | None:
    """All numbers of a text, None if there are none or other things; elements of a file repeat each other's a lot."""
    if not _NUMBERS.fullmatch(text):
        return None
    words = text.split()
    return tuple(map(float, words)) if len(max(words, key=len)) <= _LONGEST_NUMBER else None


def _shown(name: str, value: str) -> str:
    """A value as errors repeat it, with the attribute that it is of."""
    return f"{name}={quoted(value)}" if name else quoted(value)


def read_xml(path: PathLike, deepest: int = DEEPEST_XML) -> Element:
    """The root element of a file."""
    return parse_xml(read_bytes(path, LARGEST_XML_BYTES), os.fspath(path), deepest)


def parse_xml(content: bytes | str, source: str, deepest: int = DEEPEST_XML) -> Element:
    """The root element of a text; `source` names it in errors."""
    encoding = None
    if isinstance(content, str):
        try:
            content, encoding = content.encode(), "utf-8"
        except UnicodeEncodeError as error:
            raise FileError(f"{source}: not a text: {error.reason}") from None
    if len(content) > LARGEST_XML_BYTES:
        raise FileError(f"{source}: it has {len(content)} bytes, the limit is {LARGEST_XML_BYTES}")
    if not content.strip():
        raise FileError(f"{source}: it is empty")
    return _Reader(source, encoding, deepest).read(content)


class _Reader:
    """Keeps the path to the open element while expat walks through the text: no recursion, so depth is no danger."""

    def __init__(self, source: str, encoding: str | None, deepest: int) -> None:
        self.source = source
        self.deepest = deepest
        self.root: Element | None = None
        self.open: list[tuple[Element, list[str]]] = []
        self.count = 0
        self.parser = parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity

    def read(self, content: bytes) -> Element:
        try:
            self.parser.Parse(content, True)
        except expat.ExpatError as error:
            reason = "it ends too early" if error.code in _CUT_OFF else expat.ErrorString(error.code)
            raise self.error(f"this is not XML: {reason}", error.lineno) from None
        except FileError:
            raise
        except (LookupError, ValueError) as error:  # from a codec that the file names
            raise self.error(f"the encoding cannot be read: {error}") from None
        assert self.root is not None  # expat has refused a text without elements
        return self.root

    def error(self, message: str, line: int | None = None) -> FileError:
        return FileError(f"{self.source}:{line or self.parser.CurrentLineNumber}: {message}")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= self.deepest:
            raise self.error(f"<{tag[:40]}>: elements are nested more than {self.deepest} deep")
        if self.count > MOST_ELEMENTS:
            raise self.error(f"<{tag[:40]}>: there are more than {MOST_ELEMENTS} elements")
        parent = self.open[-1][0] if self.open else None
        element = Element(tag, attributes, self.source, self.parser.CurrentLineNumber, parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append((element, []))

    def end(self, tag: str) -> None:
        element, text = self.open.pop()
        element.text = "".join(text)

    def characters(self, text: str) -> None:
        self.open[-1][1].append(text)

    def doctype(self, name: str, *_: object) -> None:
        raise self.error(f"<!DOCTYPE {name[:40]}>: document types and entities are refused; delete the declaration")

    def entity(self, name: str, *_: object) -> None:
        raise self.error(f"<!ENTITY {name[:40]}>: entities are refused; write the text out")
