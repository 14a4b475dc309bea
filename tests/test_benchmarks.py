"""Every benchmark still runs: the smallest part of each, for what it calls and not for what it measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.measure import Row
from numba import config

from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.jit import api
from kinemorph.scenes.robots.catalog import folder

BRIEF = 1e-3  # s
needs_robots = pytest.mark.skipif(folder() is None, reason="example-robot-data is not installed")


def benchmark(name: str) -> Any:
    """A benchmark, if its peers are installed."""
    return pytest.importorskip(f"benchmarks.{name}")


def good(rows: list[Row]) -> bool:
    return bool(rows) and all(np.isfinite(row.ours) for row in rows)


@needs_robots
def test_dynamics(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamics = benchmark("dynamics")
    monkeypatch.setattr(dynamics, "LENGTHS", (10,))
    assert good(dynamics.of_robot("panda", False, BRIEF, False))
    assert good(dynamics.growth(BRIEF))


@needs_robots
def test_batch() -> None:
    batch = benchmark("batch")
    assert good(batch.of_robot("anymal", 8, BRIEF))


@needs_robots
def test_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    structure = benchmark("structure")
    monkeypatch.setattr(structure, "LENGTHS", (10,))
    assert good(structure.of_rerooting(BRIEF))
    assert good(structure.of_changes(BRIEF))
    assert good(structure.of_closed(BRIEF))
    assert good(structure.of_drift(structure.PIECE * 1e-3))


def test_collision() -> None:
    collision = benchmark("collision")
    rng = np.random.default_rng(0)
    floor = collision.call_floor(BRIEF, rng)
    assert good([row for name in collision.MOTIONS for row in collision.compare(name, 8, BRIEF, rng, floor)])


def test_broad_phase() -> None:
    broad_phase = benchmark("broad_phase")
    taken, _, _ = broad_phase.run(16, 0.01, 4, 2)
    assert np.isfinite(list(taken.values())).all()
    assert good([broad_phase.coherence(16, 0.01, BRIEF)])


def test_ground() -> None:
    ground = benchmark("ground")
    assert good(ground.compare_ground("box", Polyhedron.box((1.0, 1.0, 1.0)), BRIEF, 0.0, np.random.default_rng(0)))
    assert good(ground.compare_rings(BRIEF, 0.0))


def test_bounce(monkeypatch: pytest.MonkeyPatch) -> None:
    bounce = benchmark("bounce")
    for name, least in (("STEPS", (0.01,)), ("VERTICES", (8,)), ("OBJECTS", (16,)), ("FEW", (2,))):
        monkeypatch.setattr(bounce, name, least)
    assert good(bounce.figure_2_11(BRIEF, True))
    assert good(bounce.figure_2_12(BRIEF, True))
    assert bounce.coherence(BRIEF)


def test_forest() -> None:
    forest = benchmark("forest")
    few, many = forest.Live(2), forest.Live(3)
    many.count = 10_000  # whose time is the measure of all others
    rows = forest.edit_rows([forest.Live(10)], 1) + forest.dynamics_rows([few, many], BRIEF)
    assert good(rows)
    assert good(forest.chain_rows(BRIEF))


def test_tuples(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    tuples = benchmark("tuples")
    monkeypatch.setattr("sys.argv", ["tuples", "--quick"])
    tuples.main()
    assert "fold and shift" in capsys.readouterr().out


def test_world() -> None:
    world = benchmark("world")
    rows = world.of_scene("box", 5e-3, 1, 0.1)
    rows += world.of_sleep(BRIEF, 0.1)
    rows.append(world.of_count(10, True, 1))
    assert good(rows)


def test_simbench() -> None:
    simbench = benchmark("simbench")
    assert good(simbench.of_task("rolling", 0.01))


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_start(tmp_path: Path) -> None:
    start = benchmark("start").Start(str(tmp_path), "dynamics")
    assert good(start.of_case("first aba", 0, 1))
    used = (
        benchmark("start").OURS["first aba"]
        + "\nfrom kinemorph.jit import api; assert not api.compile_count().compiled"
    )
    start.seconds("import kinemorph as km\n" + used, str(tmp_path / "home"), start.packed)


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_compile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compile = benchmark("compile")
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path))
    with compile.watched() as ledger:

        @api.kernel
        def part(x: float) -> float:
            return 2.0 * x

        @api.kernel(inline=False)
        def unit(x: float) -> float:
            return part(x) + 1.0

        @api.entry
        def ask(x: float) -> float:
            return part(x) + unit(x)

        assert ask(1.0) == 5.0
    assert sorted(u.name.split(".")[-1] for u in ledger.units) == ["ask", "unit"]
    assert all(u.size > 0 and u.parts == 1 for u in ledger.units)
    (found,) = (kernel for name, kernel in ledger.kernels.items() if name.endswith(".part"))
    assert (found.versions, found.copies) == (1, 2)
    assert found.copied > 0
    assert ledger.kernels.keys() == {compile.name_of(each) for each in (part, unit, ask)}


def test_creatures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    creatures = benchmark("creatures")
    monkeypatch.setattr(creatures, "STEPS", 80)
    one = creatures.creatures(1)[0]
    found = creatures.measure(one, tmp_path, 1)
    assert all(found[name] > 0.0 for name in ("build", "develop", "run", "compile", "python", "rollout"))
    assert not found["lost"]
    theirs = creatures.Theirs(creatures.exported(one, tmp_path), one)
    assert theirs.model.body_mass.sum() == pytest.approx(one.rows["mass"].sum(), rel=1e-9)
    theirs.prepare()
    assert np.isfinite(theirs.senses.read()).all()


def test_viewer() -> None:
    assert good(benchmark("viewer").rows(0.1))


def test_crash() -> None:
    crash = benchmark("crash")
    rows = crash.of_model("timestep", 1, 3.0)
    assert good(rows)
    assert [row.metric for row in rows] == list(crash.METRICS)
    assert all(row.machine for row in rows)
