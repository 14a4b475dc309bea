"""Champions of evolution, filmed: an episode is repeated bit for bit while a recording is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._escaping import in_terminal, terminal
from kinemorph.brain import Brain, Function
from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.creatures.growth.develop import develop
from kinemorph.creatures.tasks.task import Stage
from kinemorph.evolve.creature_problem import Species
from kinemorph.evolve.experiment import problem_in, settings_in
from kinemorph.evolve.problem import Draw
from kinemorph.evolve.report import lineage, report
from kinemorph.evolve.rescore import champion_of, species_of
from kinemorph.evolve.run import held_out
from kinemorph.evolve.store.run_store import Store
from kinemorph.evolve.trust import Trust
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.scenes.pictures.side_by_side import cut_recording, place_side_by_side
from kinemorph.view.recordings.film import film
from kinemorph.view.recordings.recording import Recording, poses_of, shapes_to_show
from kinemorph.view.replays.replay import replay
from kinemorph.world.world import WorldError

CHAMPION_GAP = 0.3  # m, beyond the ways of their parts, between creatures that are shown together
MOST_TRIED_DRAWS = 4  # draws, until one is found on which a champion of a report settles and lives
SHOWN_GENERATIONS = 4  # generations whose champions are shown by default
VIEW_DIRECTION = (0.2, -1.0, 0.35)  # where one looks from, then


def record_episode(species: Species, genotype: str, draw: Draw, rate: float = 30.0) -> tuple[Recording, float]:
    """The recording of an episode, and its measure. Filming changes no bit of the evaluated episode."""
    task = species.task
    stage = Stage(task, develop(Genotype.from_json(genotype), species.settings), draw.seed, draw.number, draw.level)
    with film(stage.world, rate=rate, name=task.name) as taken:
        if reason := stage.settle():
            raise ValueError(f"this one does not live: {reason}")
        stage.live()
        measure = float(task.mark(stage).measure)
    return taken.recording, measure


def record_awake_episode(species: Species, genotype: str, draw: Draw, rate: float = 30.0) -> tuple[Recording, float]:
    """All of a life from when it wakes, at times that are the same for all of a task, and what it measures.

    A creature that is done early goes on.
    """
    task = species.task
    stage = Stage(task, develop(Genotype.from_json(genotype), species.settings), draw.seed, draw.number, draw.level)
    if reason := stage.settle():
        raise ValueError(f"this one does not live: {reason}")
    world, woken = stage.world, stage.world.time
    with film(world, rate=1.0 / task.dt, name=task.name) as taken:
        stage.live()
        measure = float(task.mark(stage).measure)
        world.run(max(0.0, woken + task.seconds - world.time))
    return cut_recording(taken.recording, woken + np.arange(round(task.seconds * rate) + 1) / rate), measure


def side_by_side(lives: Mapping[str, Recording], name: str, behind: bool | None = False) -> Recording:
    """Lives in one recording, to the right of each other or, if `behind`, farther and farther back.

    With None the direction that takes less room is used: creatures that walk to the right are shown behind each other.
    """
    across, along = (max((_extent_along(life, axis) for life in lives.values()), default=0.0) for axis in (0, 1))
    if behind is None:
        behind = along < across
    apart = (0.0, CHAMPION_GAP + along, 0.0) if behind else (CHAMPION_GAP + across, 0.0, 0.0)
    return place_side_by_side(
        lives, apart, f"{name}, {'front to back' if behind else 'left to right'}: {', '.join(lives)}"
    )


def _extent_along(life: Recording, axis: int) -> float:
    """m, how much room the parts of one take along an axis in the whole of its life."""
    ends = [0.0, 0.0]
    for i, body in enumerate(life.bodies):
        if "part" in body.name and body.shapes:
            corners = np.concatenate([s.pose.apply(life.mesh_of(s).vertices) for s in body.shapes])
            reach, at = float(np.linalg.norm(corners, axis=1).max()), life.poses[:, i, axis]
            ends += [float(np.nanmin(at)) - reach, float(np.nanmax(at)) + reach]
    return max(ends) - min(ends)


def report_runs(runs: list[Path], out: Path, trust: Trust = ()) -> Path:
    """One page for runs, with champions that move, and a table of descent beside each run."""
    console = terminal()
    if not runs:
        raise ValueError("there are no runs to report; name files that `kinemorph evolve` made")
    out.parent.mkdir(parents=True, exist_ok=True)
    report(runs, out, film_of, trust)
    for run in runs:
        with Store.open(run) as store:
            lineage(store, run.with_suffix(".lineage.csv"))
    console.print(f"look at [bold]{in_terminal(out)}[/]")
    return out


def film_of(store: Store, generation: int, rank: int) -> dict[str, Any] | None:
    """A film as plain numbers; nothing for what is no creature or does not live."""
    problem = problem_in(store)
    if not isinstance(problem, Species):
        return None
    genotype = champion_of(store, generation, rank)
    for draw in held_out(settings_in(store).seed, MOST_TRIED_DRAWS):
        try:
            recording, measure = record_episode(problem, genotype, draw, rate=15.0)
            break
        except (ValueError, WorldError):
            continue
    else:
        return None
    creature = develop(Genotype.from_json(genotype), problem.settings)
    poses = np.round(recording.poses, 4)
    frames = [[None if np.isnan(pose).any() else pose.tolist() for pose in frame] for frame in poses]
    bodies = [{"shapes": [_shape(shape) for shape in shapes_to_show(body.shapes)]} for body in recording.bodies]
    names = [body.name for body in recording.bodies]
    half = creature.rows["half"]
    return {
        "rate": 15, "frames": frames, "bodies": bodies, "follow": next(i for i, n in enumerate(names) if "part0" in n),
        "size": max(0.3, float(np.linalg.norm(half.sum(0)))), "ground": problem.task.gravity > 0.0,
        "parts": len(creature.rows), "measure": measure, "brain": _graph(creature.brain),
    }  # fmt: skip


def _shape(shape: Shape) -> dict[str, Any]:
    """A box, or a ball; what is round along an axis is drawn as the box around it."""
    size = shape.size
    if shape.kind is ShapeKind.BOX:
        half = [0.5 * side for side in size]
    elif shape.kind is ShapeKind.SPHERE:
        half = [size[0]] * 3
    else:
        radius = size[0]
        half = [radius, radius, 0.5 * size[1] + (radius if shape.kind is ShapeKind.CAPSULE else 0.0)]
    red, green, blue = (round(255 * c) for c in (shape.colour or (0.6, 0.6, 0.65))[:3])
    at = poses_of(shape.pose.rotation[None], shape.pose.position[None])[0]
    return {
        "half": half, "ball": shape.kind is ShapeKind.SPHERE, "at": at[:3].tolist(), "turn": at[3:].tolist(),
        "colour": f"rgb({red},{green},{blue})",
    }  # fmt: skip


def _graph(brain: Brain) -> dict[str, Any]:
    """Senses, neurons and effectors of a brain, and its connections with their weights, as JSON data."""
    first = 2 + len(brain.neurons)
    neurons = [{"id": 2 + i, "name": Function(one.function).name.lower()} for i, one in enumerate(brain.neurons)]
    senses = [
        {"id": first + i, "name": f"{one.link} {one.what.name.lower()} {one.axis}"}
        for i, one in enumerate(brain.senses)
    ]
    effects = [{"id": f"e{i}", "name": f"{one.link} {one.what.name.lower()}"} for i, one in enumerate(brain.effects)]
    wires = [
        (source, 2 + i, round(weight, 3))
        for i, one in enumerate(brain.neurons)
        for source, weight in zip(one.sources, one.weights, strict=True)
        if source > 1
    ]
    wires += [(one.source, f"e{i}", round(one.weight, 3)) for i, one in enumerate(brain.effects)]  # type: ignore[misc]
    return {"senses": senses, "neurons": neurons, "effects": effects, "wires": wires}


def replay_champions(
    runs: Sequence[Path], generations: Sequence[int], rank: int, draw: int, behind: bool | None, out: Path | None,
    trust: Trust = (),
) -> Path:  # fmt: skip
    """Write the replay of one of a run, or of several together, and say what they measure."""
    console = terminal()
    wanted = [(run, generation) for run in runs for generation in (generations or (None,))]
    if not wanted:
        raise ValueError("replay: name at least one run")
    if draw < 0:
        raise ValueError(f"draw is {draw}, and must not be negative")
    lives: dict[str, Recording] = {}
    for run, generation in wanted:
        with Store.open(run, trust=trust) as store:
            species = species_of(store)
            generation = store.last if generation is None else generation
            genotype = champion_of(store, generation, rank)
            on = held_out(settings_in(store).seed, draw + 1)[draw]
        recording, measure = (record_episode if len(wanted) == 1 else record_awake_episode)(species, genotype, on)
        outcome = species.evaluate(genotype, on)
        if not outcome.reason and outcome.measure != measure:
            raise RuntimeError(f"filmed it measures {measure}, evaluated {outcome.measure}: they should be one life")
        name = f"{run.stem}-{generation}-{rank}"
        lives[name if len(runs) > 1 else f"generation {generation}"] = recording
        said = f"generation {generation}, rank {rank}, draw {draw}: {measure:.3f} {outcome.reason}"
        console.print(in_terminal(said if len(runs) == 1 else f"{run.stem}, {said}"))
    first, _ = wanted[0]
    file = out or first.with_name(f"{name if len(lives) == 1 else f'{first.stem}-and-others'}.html")
    if len(lives) == 1:
        replay(recording, file, follow="part0")
    else:
        replay(side_by_side(lives, species.name, behind), file, direction=VIEW_DIRECTION)
    console.print(f"look at [bold]{in_terminal(file)}[/]")
    return file


def replay_progress(run: Path, trust: Trust = ()) -> Path:
    """Write the replay of a run's champions side by side, from the first generation to the last, beside the run."""
    with Store.open(run, trust=trust) as store:
        species, on = species_of(store), held_out(settings_in(store).seed, 1)[0]
        best: dict[str, int] = {}  # of each champion its first generation
        for generation in sorted({round(k * store.last / (SHOWN_GENERATIONS - 1)) for k in range(SHOWN_GENERATIONS)}):
            genotype = champion_of(store, generation, 0)
            if not species.evaluate(genotype, on).reason:
                best.setdefault(genotype, generation)
    if not best:
        raise ValueError(f"{run}: none of its champions lives on a draw that the search did not see")
    page = run.with_name(f"{run.stem}-champions.html")
    return replay_champions([run], [*best.values()], 0, 0, None, page, trust)
