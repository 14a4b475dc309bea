"""What a user sees while kernels are being compiled."""

import contextlib
from types import SimpleNamespace

import pytest

from kinemorph.jit import progress as jit_progress
from kinemorph.jit.progress import Progress


@pytest.mark.parametrize("terminal", [False, True])
def test_long_compilation_says_how_far_it_is(monkeypatch, capsys, terminal):
    clock = iter([0.0, 1.0, 3.0, 4.0, 14.0, 14.0])  # the start, the end of each kernel, and of all
    monkeypatch.delenv("KINEMORPH_QUIET", raising=False)
    monkeypatch.setattr(jit_progress, "_on_terminal", lambda: terminal)
    monkeypatch.setattr(jit_progress, "time", SimpleNamespace(monotonic=lambda: 1000.0 + next(clock)))
    progress = Progress()
    with progress.compiling():
        progress.missed("outer", lambda: {"outer": 1.0, "inner": 1.0}, lambda: None, lambda: "the folder")
        for _ in range(4):
            progress.finished(compiled=True)
    lines = [f"kinemorph: compiled {n} kernels in {s} s" for n, s in [(2, 3), (3, 4), (4, 14)]]
    where = "kept in the folder; all at once: kinemorph warm"
    announcement = f"kinemorph: compiling outer and what it calls, a moment (first use; {where})\n"
    if terminal:
        expected = announcement + "".join(f"\r{line:<60}" for line in lines) + "\n"
    else:
        expected = announcement + f"{lines[0]}\n{lines[2]}\n"
    assert capsys.readouterr().err == expected
    assert progress.count == (4, 0)


def test_each_long_wait_is_announced_once(monkeypatch, capsys):
    monkeypatch.delenv("KINEMORPH_QUIET", raising=False)
    progress = Progress()
    first, second, third = range(100), range(50, 250), range(240, 300)
    for name, kernels in (("aba", first), ("step", second), ("cut", third)):
        with progress.compiling():
            for _ in range(3):  # it, and what is compiled on its behalf
                with progress.compiling() if _ else contextlib.nullcontext():
                    progress.missed(
                        name, lambda kernels=kernels: dict.fromkeys(kernels, 1.0), lambda: None, lambda: "F"
                    )
    assert capsys.readouterr().err.splitlines() == [
        "kinemorph: compiling aba and what it calls, about 8 s (first use; kept in F; all at once: kinemorph warm)",
        "kinemorph: compiling step and what it calls, about 12 s",  # 50 of them are there
    ]


def test_what_is_seldom_needed_and_what_helpers_do_take_less_time(monkeypatch, capsys):
    monkeypatch.delenv("KINEMORPH_QUIET", raising=False)
    asked, progress = [], Progress()
    kernels = {k: 1.0 if k < 100 else 0.25 for k in range(300)}
    with progress.compiling():
        progress.missed("step", lambda: kernels, lambda: None, lambda: "F", help=lambda work: asked.append(work) or 2)
    assert asked == [pytest.approx(12.0)]
    assert capsys.readouterr().err.startswith("kinemorph: compiling step and what it calls, about 7 s on 2 cores (")


def test_whoever_listens_hears_of_each_kernel_that_is_compiled():
    progress, heard = Progress(), []
    progress.listener = lambda: heard.append(progress.count.compiled)
    for compiled in (True, False, True):
        progress.finished(compiled=compiled)
    assert heard == [1, 2]
