"""The rules of the house find what breaks them, and the package breaks none."""

import textwrap

import pytest
from tools import house_rules

CLEAN = """
    import numpy as np
    FOREST = np.dtype([("trees", "i8"), ("tree_room", "i8")])
    REACH_DISTANCE = 0.5

    @kernel
    def count_trees(forest):
        return forest["trees"] + forest["tree_room"]
"""
BROKEN = {
    "full_folders": {f"file_{i}.py": "" for i in range(house_rules.MOST_FILES + 1)},
    "ambiguous_constants": {"other.py": "REACH_DISTANCE = 0.25"},
    "homonyms": {"other.py": "def count_trees(model): return 0"},
    "lettered_headers": {"other.py": """
        @kernel(inline=False)
        def measure(f):
            return f["trees"] + f["tree_room"]
    """},
}  # fmt: skip


def write(folder, files):
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text))
    return house_rules.sources(folder)


@pytest.mark.parametrize("rule", house_rules.RULES, ids=lambda rule: rule.__name__)
def test_a_rule_finds_what_breaks_it_and_nothing_else(rule, tmp_path):
    assert list(rule(write(tmp_path, {"clean.py": CLEAN}))) == []
    assert len(list(rule(write(tmp_path, BROKEN[rule.__name__])))) == 1


def test_overloads_are_one_function(tmp_path):
    text = "@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...\ndef f(x): return x"
    assert list(house_rules.homonyms(write(tmp_path, {"one.py": text}))) == []


def test_the_package_breaks_no_rule():
    files = house_rules.sources(house_rules.PACKAGE)
    assert [line for rule in house_rules.RULES for line in rule(files)] == []
