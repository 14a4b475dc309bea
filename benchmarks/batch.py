"""Many states of one model: batches on lanes against Pinocchio's parallel calls and MuJoCo's rollout.

    python -m benchmarks.batch [--quick] [--json FILE] [--plot FILE]

Figures are µs per state (per state and step for rollouts), on one thread and on two. Pinocchio's peer is its
`abaInParallel` and `rneaInParallel` if the wheel offers them, and its scalar call from Python. MuJoCo gets the same
tree without contact, built from the same numbers, and steps it with `mujoco.rollout`.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from mujoco import rollout as mujoco_rollout

import kinemorph as km
from benchmarks.measure import Row, arguments, repeat, report, time_side_by_side
from benchmarks.mujoco_twin import twin
from kinemorph.jit import api
from kinemorph.scenes.robots.catalog import UNSTOPPED, robot, robot_file

ROBOTS = ("anymal", "g1", "talos")
ASKED = {"aba": 6.0, "rnea": 4.0, "rollout": 3.0}
STEPS = 100
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)


def relative(ours: Any, theirs: Any) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def states(model: km.Model, n: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    Q = np.stack([km.random_configuration(model, rng) for _ in range(n)])
    return Q, rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv))


def parallel(function: str, pool: Any, q: Any, v: Any, u: Any) -> Callable[[int], object] | None:
    """Pinocchio's call for a whole batch, if this wheel has it; arrays are one state a column."""
    call = getattr(pin, f"{function}InParallel", None)
    if call is None or pool is None:
        return None
    Q, V, U = (np.asfortranarray(x.T) for x in (q, v, u))
    out = np.asfortranarray(np.zeros_like(V))

    def run(n: int) -> None:
        for _ in range(n):
            call(run.threads, pool, Q, V, U, out)  # type: ignore[attr-defined]

    run.threads = 1  # type: ignore[attr-defined]
    run.out = out  # type: ignore[attr-defined]
    return run


def of_robot(name: str, batch: int, seconds: float) -> list[Row]:
    model = robot(name, floating=True).with_dofs(damping=0.0)
    peer = pin.buildModelFromUrdf(str(robot_file(name)), pin.JointModelFreeFlyer())
    to = km.convert.pinocchio(model, peer)
    Q, V, TAU = states(model, batch)
    Q_, V_, TAU_ = to.q(Q), to.v(Q, V), to.tau(Q, TAU)
    rows = []
    pool = pin.ModelPool(peer, 2) if hasattr(pin, "ModelPool") else None
    case = f"{name} (nv {model.nv}), {batch} states"
    ours = {"aba": km.batch.aba, "rnea": km.batch.rnea}
    U_ = {"aba": TAU_, "rnea": to.a(Q, V, TAU)}
    data = peer.createData()
    for algorithm, function in ours.items():
        scalar = getattr(pin, algorithm)
        expected = np.stack([scalar(peer, data, *state) for state in zip(Q_, V_, U_[algorithm], strict=True)])
        back = to.a if algorithm == "aba" else None
        result = function(model, Q, V, TAU)
        accuracy = relative(back(Q, V, result) if back else to.tau(Q, result), expected)
        out = np.empty_like(V)
        many = parallel(algorithm, pool, Q_, V_, U_[algorithm])
        for workers in (1, 2):
            ours_call = functools.partial(function, model, Q, V, TAU, out=out, workers=workers)
            calls: dict[str, Callable[[int], object]] = {"ours": repeat(ours_call)}
            if many is not None:
                many.threads = workers  # type: ignore[attr-defined]
                calls["parallel"] = many
            one = (peer, data, Q_[0], V_[0], U_[algorithm][0])
            calls["scalar"] = repeat(scalar, *one)
            times = time_side_by_side(calls, seconds)
            mine = times["ours"] / batch
            threads = f"{workers} thread{'s' if workers > 1 else ''}"
            if many is not None:
                theirs = times["parallel"] / batch
                rows.append(
                    Row("batch", case, f"{algorithm}, {threads}", mine, theirs, "Pinocchio InParallel", accuracy)
                )
            rows.append(
                Row("batch", case, f"{algorithm}, {threads}", mine, times["scalar"], "Pinocchio, from Python", accuracy)
            )
    rows += rollouts(name, model, min(batch, 512), seconds)
    return rows


def rollouts(name: str, model: km.Model, batch: int, seconds: float) -> list[Row]:
    """STEPS steps of 1 ms of semi-implicit Euler from the same states, against MuJoCo's default integrator."""
    mj, to = twin(model)
    Q, V, _ = states(model, batch)
    V *= 0.1
    model = model.with_dofs(**UNSTOPPED)
    start = np.concatenate([np.zeros((batch, 1)), to.q(Q), to.v(Q, V)], axis=1)
    rows = []
    for workers in (1, 2):
        datas = [mujoco.MjData(mj) for _ in range(workers)]
        with mujoco_rollout.Rollout(nthread=workers if workers > 1 else 0) as peer:

            def theirs(n: int, peer: Any = peer, datas: Any = datas) -> Any:
                for _ in range(n):
                    end = peer.rollout(mj, datas, start, nstep=STEPS)
                return end

            final = theirs(1)[0][:, -1]
            path = km.batch.rollout(model, Q, V, dt=1e-3, steps=STEPS, every=STEPS, method="euler")
            accuracy = relative(path.v[:, -1], to.v_back(final[:, 1 : 1 + mj.nq], final[:, 1 + mj.nq :]))
            calls = {
                "ours": repeat(
                    lambda w=workers: km.batch.rollout(
                        model, Q, V, dt=1e-3, steps=STEPS, every=STEPS, method="euler", workers=w
                    )
                ),
                "peer": theirs,
            }
            times = time_side_by_side(calls, seconds)
        threads = f"{workers} thread{'s' if workers > 1 else ''}"
        each = {k: t / (batch * STEPS) for k, t in times.items()}
        case = f"{name} (nv {model.nv}), {batch} rollouts"
        rows.append(
            Row("batch", case, f"rollout step, {threads}", each["ours"], each["peer"], "MuJoCo rollout", accuracy)
        )
    return rows


def throughput(model: km.Model, seconds: float) -> dict[int, float]:
    """Million states per second of batch.aba against batch size."""
    result = {}
    for n in SIZES:
        Q, V, TAU = states(model, n)
        out = np.empty_like(V)
        took = time_side_by_side({"x": repeat(lambda: km.batch.aba(model, Q, V, TAU, out=out))}, seconds / 4)["x"]  # noqa: B023
        result[n] = n / took
    return result


def plot(file: Path, seconds: float) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axis = figure.subplots()
    for name in ROBOTS:
        model = robot(name, floating=True)
        data = km.Data(model)
        Q, V, TAU = states(model, 1)
        alone = time_side_by_side({"x": repeat(km.aba, model, data, Q[0], V[0], TAU[0])}, seconds / 4)["x"]
        rates = throughput(model, seconds)
        (line,) = axis.plot(list(rates), list(rates.values()), marker="o", markersize=3.5, label=f"{name}, batch.aba")
        axis.axhline(
            1.0 / alone, color=line.get_color(), linestyle=":", linewidth=1.0, label=f"{name}, km.aba one by one"
        )
    axis.set(xscale="log", yscale="log", xlabel="batch size", ylabel="million states per second")
    axis.set_title(f"Forward dynamics on {os.cpu_count()} cores")
    axis.grid(color="0.92", which="both")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(file, dpi=130)
    print(f"plot in {file}")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw throughput against batch size")
    options = parser.parse_args()
    seconds = 0.6 if options.quick else 3.0
    before, start = api.compile_count().compiled, time.perf_counter()
    model = robot("anymal", floating=True).with_dofs(**UNSTOPPED)
    Q, V, TAU = states(model, 5)
    km.batch.aba(model, Q, V, TAU)
    km.batch.rnea(model, Q, V, TAU)
    km.batch.rollout(model, Q, V, TAU, steps=1, method="euler")
    count = api.compile_count().compiled - before
    print(f"lane kernels ready in {time.perf_counter() - start:.1f} s ({count} compiled, the rest from the cache)")
    rows = [row for name in ROBOTS for row in of_robot(name, 1024 if options.quick else 4096, seconds)]
    report(
        "Batches: µs per state (and step)", rows, options.json, ("kinemorph", "numba", "pin", "mujoco-core", "numpy")
    )
    for name in ROBOTS:
        pair = [r.ours for r in rows if r.case.startswith(name) and r.metric.startswith("aba")]
        print(f"{name}: two threads are {pair[0] / pair[-1]:.2f} times as fast as one (aba)")
    missed = [
        f"{r.case} {r.metric} against {r.peer_name}: {r.ratio:.2f}x, asked {ASKED[r.metric.split(',')[0].split()[0]]}x"
        for r in rows
        if r.ratio is not None and r.ratio < ASKED[r.metric.split(",")[0].split()[0]]
    ]
    print("\n".join(["below what is asked:", *missed]) if missed else "all ratios reach what is asked")
    if options.plot:
        plot(options.plot, seconds)


if __name__ == "__main__":
    main()
