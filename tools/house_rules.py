"""Rules of the house that no linter has: `python tools/house_rules.py` lists what breaks them, and exits with 1 then.

Folders of at most fifteen files; one value for a constant's name in the whole package; one function or class of a name
in a folder; and no single letter for a header (the row by which a kernel reaches its tables).
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "kinemorph"
MOST_FILES = 15
HEADERS = ("WORLD", "SOLVER", "COLLISIONS", "FOREST", "MINDS", "HASH", "CREW", "TREE", "SYSTEM")

Sources = dict[Path, ast.Module]


def sources(package: Path) -> Sources:
    return {path: ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}


def decorators(node: ast.FunctionDef | ast.ClassDef) -> str:
    return " ".join(ast.unparse(decorator) for decorator in node.decorator_list)


def full_folders(files: Sources) -> Iterator[str]:
    """Folders with more files than a reader takes in at a glance."""
    counts: dict[Path, int] = defaultdict(int)
    for path in files:
        counts[path.parent] += path.name != "__init__.py"
    for folder, count in counts.items():
        if count > MOST_FILES:
            yield f"{folder}: {count} files; at most {MOST_FILES}, so split it by ideas"


def ambiguous_constants(files: Sources) -> Iterator[str]:
    """Constants of one name with several values."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for path, tree in files.items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.UnaryOp | ast.BinOp):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id.isupper() and len(target.id) > 1:
                        values[target.id][f"{path}:{node.lineno}"] = ast.unparse(node.value)
    for name, places in values.items():
        if len(set(places.values())) > 1:
            yield f"{name} has several values: " + ", ".join(f"{value} at {place}" for place, value in places.items())


def homonyms(files: Sources) -> Iterator[str]:
    """Functions and classes of one name in one folder. The overloads of a function are one."""
    found: dict[tuple[Path, str], list[str]] = defaultdict(list)
    for path, tree in files.items():
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            if "overload" not in decorators(node):
                found[path.parent, node.name].append(f"{path.name}:{node.lineno}")
    for (folder, name), places in found.items():
        if len(places) > 1:
            yield f"{folder}: {name} is defined {len(places)} times: {', '.join(places)}"


def fields_of_headers(files: Sources) -> dict[str, set[str]]:
    """The fields of the structured dtypes that are headers."""
    fields: dict[str, set[str]] = {}
    for tree in files.values():
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.List(elts=entries), *_])):
                    if name in HEADERS:
                        rows = [entry for entry in entries if isinstance(entry, ast.Tuple)]
                        fields[name] = {str(ast.literal_eval(row.elts[0])) for row in rows}
    return fields


def is_kernel(node: ast.stmt) -> bool:
    """Whether a statement is a function that is compiled."""
    return isinstance(node, ast.FunctionDef) and decorators(node).startswith(("kernel", "entry"))


def fields_of_letters(function: ast.stmt) -> dict[str, set[str]]:
    """Which fields of its parameters of one letter a kernel reads or writes."""
    assert isinstance(function, ast.FunctionDef)
    letters = {argument.arg for argument in function.args.args if len(argument.arg) == 1}
    used: dict[str, set[str]] = defaultdict(set)
    for part in ast.walk(function):
        match part:
            case ast.Subscript(value=ast.Name(id=letter), slice=ast.Constant(value=str(field))) if letter in letters:
                used[letter].add(field)
    return used


def lettered_headers(files: Sources) -> Iterator[str]:
    """Parameters of kernels that are one letter, and of which fields are read that only one kind of header has."""
    headers = fields_of_headers(files)
    for path, tree in files.items():
        for node in filter(is_kernel, tree.body):
            for letter, names in fields_of_letters(node).items():
                kinds = [kind for kind, fields in headers.items() if names <= fields]
                if len(kinds) == 1 and len(names) > 1:
                    yield f"{path}:{node.lineno}: the header {letter} ({kinds[0]}) needs a word"


RULES = (full_folders, ambiguous_constants, homonyms, lettered_headers)


def main() -> int:
    files = sources(PACKAGE)
    broken = [line for rule in RULES for line in rule(files)]
    print(*broken, sep="\n", end="\n" if broken else "")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
