"""A hash of a module's source and of all that it imports from its own package and from kinemorph: the part of
a kernel's key that sees an edit in another file. It reads the sources with `ast` and imports nothing."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_KINEMORPH, _KINEMORPH_ROOT = __name__.partition(".")[0], Path(__file__).parents[3]


def file_digest(file: str) -> str | None:
    """A hash of the content as it is now; None if it cannot be read."""
    try:
        status = os.stat(file)
        return _content_digest(file, status.st_mtime_ns, status.st_size)
    except OSError:
        return None


@functools.cache
def _content_digest(file: str, mtime: int, size: int) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def package_digest() -> str:
    """A hash of all sources of kinemorph."""
    root = _KINEMORPH_ROOT / _KINEMORPH
    digests = [(path.relative_to(root).as_posix(), file_digest(str(path))) for path in sorted(root.rglob("*.py"))]
    return hashlib.sha256(repr(digests).encode()).hexdigest()


@functools.cache
def module_key(module: str, file: str) -> str:
    """A hash of `module`, found in `file`, and of all that it needs of its top-level package and of ours."""
    digests = sorted((name, file_digest(path)) for name, path in modules_behind(module, file).items())
    return hashlib.sha256(repr(digests).encode()).hexdigest()


@functools.cache
def modules_behind(module: str, file: str) -> dict[str, str]:
    """`module`, and all that it needs of its top-level package and of ours: their names and files."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    name = spec.name if spec else module  # `python -m package.module` calls it __main__
    path = Path(file)
    depth = name.count(".") + (path.name == "__init__.py")
    root = str(path.parents[min(depth, len(path.parents) - 1)])
    found, pending = {name: file}, [name]
    while pending:
        importer = pending.pop()
        for imported, source in _imported_sources(importer, found[importer], root):
            if imported not in found:
                found[imported] = source
                pending.append(imported)
    return found


@functools.cache
def _source_file(root: str, module: str) -> str | None:
    top = str(_KINEMORPH_ROOT) if module.partition(".")[0] == _KINEMORPH else root
    base = os.path.join(top, *module.split("."))
    return next((path for path in (os.path.join(base, "__init__.py"), f"{base}.py") if os.path.isfile(path)), None)


@functools.cache
def _imported_sources(module: str, file: str, root: str) -> list[tuple[str, str]]:
    """The modules that `module` imports, as far as they have sources here."""
    sources = {name: _source_file(root, name) for name in _imported_modules(module, file, root)}
    return [(name, source) for name, source in sources.items() if source]


def _imported_modules(module: str, file: str, root: str) -> set[str]:
    """The modules of its own top-level package, and of ours, that `module` imports when it is imported itself.

    A package runs its `__init__` before any of its modules, so that counts as imported too. Not so if
    `module` lies in the package itself, or if it is a top-level one: such an `__init__` imports everything
    below it, and every edit would recompile every kernel. When asked for a name of its own, it does count.
    """
    package = module if os.path.basename(file) == "__init__.py" else module.rpartition(".")[0]
    ours = (module.partition(".")[0], _KINEMORPH)
    asked: set[str] = set()
    for statement in _import_statements(file):
        if isinstance(statement, ast.Import):
            asked.update(alias.name for alias in statement.names)
            continue
        parents = package.split(".")[: package.count(".") + 2 - statement.level] if statement.level else []
        origin = ".".join([*parents, statement.module] if statement.module else parents)
        if origin.partition(".")[0] not in ours:
            continue
        names = {f"{origin}.{alias.name}" for alias in statement.names}
        submodules = {name for name in names if _source_file(root, name)}
        asked.update(submodules if names == submodules else submodules | {origin})
    found = {name for name in asked if name.partition(".")[0] in ours}
    for name in list(found):
        while "." in (name := name.rpartition(".")[0]) and not f"{module}.".startswith(f"{name}."):
            found.add(name)
    return found


# Functions are most of the text, and an import in one of them does not run with the module. To leave them out
# makes parsing several times faster, which a warm start feels.
_FUNCTION = re.compile(rb"^(?:async )?def .*\n(?:[ \t].*\n|[ \t\r]*\n|\).*\n)*", re.MULTILINE)
_FOR_CHECKERS = re.compile(rb"^if (?:typing\.)?TYPE_CHECKING:\n(?:[ \t].*\n|\n)+(?!el)", re.MULTILINE)
# Most of what is left are dtypes and constants. Imports in the first column can be found without parsing those; where
# there are others, all is parsed.
_IMPORT = re.compile(rb"^(?:from [.\w]+ import (?:\([^)]*\)|[^\n(]+)|import [^\n]+)$", re.MULTILINE)
_ANY_IMPORT = re.compile(rb"(?<![\w.])import(?!\w)")


def _parsed(text: bytes) -> ast.AST:
    text = _FUNCTION.sub(b"def f(): ...\n", text)
    imports = _IMPORT.findall(plain := _FOR_CHECKERS.sub(b"", text))
    if len(imports) == len(_ANY_IMPORT.findall(plain)):
        with contextlib.suppress(SyntaxError):
            return ast.parse(b"\n".join(imports))
    return ast.parse(text)


def _import_statements(file: str) -> Iterator[ast.Import | ast.ImportFrom]:
    try:
        with open(file, "rb") as source:
            text = source.read()
        try:
            pending = [_parsed(text)]
        except SyntaxError:  # a function with a comment or a string in the first column
            pending = [ast.parse(text)]
    except (OSError, SyntaxError, ValueError):  # being edited: its content is in the key
        return
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            pending.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            pending.extend(ast.iter_child_nodes(node))
