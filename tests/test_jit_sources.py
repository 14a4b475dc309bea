"""The key of a module: which edits in its package it notices."""

import ast
from pathlib import Path

import pytest

import kinemorph
from kinemorph.jit.cache import source_hash
from kinemorph.jit.cache.source_hash import module_key


@pytest.mark.parametrize(
    ("importer", "statement", "edited", "noticed"),
    [
        ("pack.user", "from pack.sub.thing import f", "pack/sub/thing.py", True),
        ("pack.user", "from .sub.thing import f", "pack/sub/thing.py", True),
        ("pack.user", "from pack.sub import thing", "pack/sub/thing.py", True),
        ("pack.user", "from .sub import thing", "pack/sub/thing.py", True),
        ("pack.user", "import pack.sub.thing as t", "pack/sub/thing.py", True),
        ("pack.user", "from . import plain", "pack/plain.py", True),
        ("pack.user", "try:\n    from . import plain\nexcept ImportError:\n    pass", "pack/plain.py", True),
        ("pack.user", "from .plain import (\n    f,\n    g,\n)", "pack/plain.py", True),
        ("pack.user", "from pack.sub.thing import f", "pack/sub/__init__.py", True),
        ("pack.user", "from pack.sub.thing import f", "pack/sub/deep.py", True),  # imported by sub/__init__.py
        ("pack.user", "from pack.plain import f", "pack/beyond.py", True),  # imported by plain.py
        ("pack.user", "from pack.plain import f", "pack/user.py", True),
        ("pack.user", "from pack.plain import f", "pack/__init__.py", False),
        ("pack.user", "from pack.plain import f", "pack/sub/thing.py", False),
        ("pack.user", "from pack import NAME", "pack/__init__.py", True),
        ("pack.sub.user", "from . import thing", "pack/sub/thing.py", True),
        ("pack.sub.user", "from .. import plain", "pack/plain.py", True),
        ("pack.sub.user", "from ..plain import f", "pack/beyond.py", True),
        ("pack.sub.user", "from .thing import f", "pack/sub/deep.py", False),
        ("pack.sub.user", "from . import NAME", "pack/sub/__init__.py", True),
        ("pack.user", "def f():\n    from . import plain\n", "pack/plain.py", False),
        ("pack.user", "def f():\n    '''\nNot indented\n'''\nfrom . import plain\n", "pack/plain.py", True),
        ("pack.user", "if TYPE_CHECKING:\n    from . import plain", "pack/plain.py", False),
        ("pack.user", "from kinemorph.part import f", "kinemorph/part.py", True),
        ("pack.user", "from kinemorph.part import f", "kinemorph/__init__.py", False),
        ("pack.user", "import kinemorph as km", "kinemorph/part.py", True),
        ("script", "from kinemorph.part import f", "kinemorph/part.py", True),
        ("script", "from other.part import f", "other/part.py", False),
    ],
)
def test_module_key_follows_imports(monkeypatch, tmp_path, importer, statement, edited, noticed):
    user = importer.replace(".", "/") + ".py"
    files = {
        "pack/__init__.py": "from . import plain, user, sub\nNAME = 1\n",
        "pack/plain.py": "from .beyond import f\n",
        "pack/beyond.py": "",
        "pack/sub/__init__.py": "from .deep import f\nNAME = 1\n",
        "pack/sub/thing.py": "",
        "pack/sub/deep.py": "",
        "kinemorph/__init__.py": "from . import part\n",
        "kinemorph/part.py": "",
        "other/part.py": "",
        user: statement,
    }
    keys = []
    for name, addition in [("before", ""), ("after", "# edited\n")]:
        monkeypatch.setattr(source_hash, "_KINEMORPH_ROOT", tmp_path / name)
        for file, text in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n{addition if file == edited else ''}")
        keys.append(module_key(importer, str(tmp_path / name / user)))
    assert (keys[0] != keys[1]) == noticed


def test_imports_found_without_parsing_are_those_of_the_parser(monkeypatch):
    files = sorted(Path(kinemorph.__file__).parent.rglob("*.py"))
    quick = [sorted(map(ast.unparse, source_hash._import_statements(file))) for file in files]
    monkeypatch.setattr(source_hash, "_parsed", ast.parse)
    assert quick == [sorted(map(ast.unparse, source_hash._import_statements(file))) for file in files]


@pytest.mark.parametrize(
    "text",
    [
        "x = 1; import a",
        "if True: import a",
        "import a, \\\n    b",
        "from a import (b,  # and )\n    c)",
        "from a import b\nclass A:\n    import c",
        "if TYPE_CHECKING:\n    import a\nelse:\n    import b",
        "'''\nimport this and that\n'''\nimport a",
    ],
)
def test_unusual_imports_are_found(text):
    def found(tree):
        return {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}

    assert found(source_hash._parsed(f"{text}\n".encode())) == found(ast.parse(text))
