"""What a user sees while kernels are being compiled."""

from types import SimpleNamespace

import pytest

from kinemorph import _jit_progress
from kinemorph._jit_progress import Progress


@pytest.mark.parametrize("terminal", [False, True])
def test_long_compilation_says_how_far_it_is(monkeypatch, capsys, terminal):
    clock = iter([0.0, 1.0, 3.0, 4.0, 14.0, 14.0])  # the start, the end of each kernel, and of all
    monkeypatch.delenv("KINEMORPH_QUIET", raising=False)
    monkeypatch.setattr(_jit_progress, "_on_terminal", lambda: terminal)
    monkeypatch.setattr(_jit_progress, "time", SimpleNamespace(monotonic=lambda: 1000.0 + next(clock)))
    progress = Progress()
    with progress.compiling():
        progress.missed(lambda: None, lambda: "the folder")
        for _ in range(4):
            progress.finished(compiled=True)
    lines = [f"kinemorph: compiled {n} kernels in {s} s" for n, s in [(2, 3), (3, 4), (4, 14)]]
    announcement = "kinemorph: compiling kernels (first use; kept in the folder)\n"
    if terminal:
        expected = announcement + "".join(f"\r{line:<60}" for line in lines) + "\n"
    else:
        expected = announcement + f"{lines[0]}\n{lines[2]}\n"
    assert capsys.readouterr().err == expected
    assert progress.count == (4, 0)
