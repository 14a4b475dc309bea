"""The kinds of files that `tests.hostile_files` attacks with: examples, how they are spoiled, and what reads them."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from tests import fuzz, mutators
from tests.hostile_files import Kind
from tests.mutators import Rng
from tests.world.kept_worlds import BUSY, SMALL, asleep, ground, probe, released, use

import kinemorph as km
from kinemorph.creatures.gallery import HANDMADE, handmade
from kinemorph.creatures.genotype.genotype import load_genotype
from kinemorph.evolve.evaluators.job import Individual, Job, Result
from kinemorph.evolve.experiment import facts, problem_of, settings_in
from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.evolve.report import lineage, report
from kinemorph.evolve.settings import Settings
from kinemorph.evolve.store.run_store import Store, StoreError
from kinemorph.geometry import hull_cache, polyhedron
from kinemorph.geometry.meshes.kept_mesh import keep_mesh
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.jit.cache import known_keys, machine_code
from kinemorph.jit.cache.keys import versions
from kinemorph.jit.cache.pack import KERNEL, MANIFEST, NOTE, PACK_FORMAT, Manifest, Pack, settings_of_packs
from kinemorph.jit.cache.source_hash import package_digest
from kinemorph.jit.compiler.numba_names import host_triple
from kinemorph.view.recordings import film
from kinemorph.world.persistence.journal import DivergenceError

ROUNDS = 100  # refused restores of a live world before another one is made


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        yield Path(folder)


# ---------------------------------------------------------------------------------------------------------- snapshots


def _snapshots() -> list[tuple[str, bytes]]:
    return [(".world", make().save()) for make in {**SMALL, **BUSY}.values()]


class Live:
    """A world that is asked to restore what is hostile, and a twin of it that never is."""

    def __init__(self) -> None:
        self.left = 0
        self.first: km.World | None = None

    def refuse(self, data: bytes) -> None:
        """A restore that is refused leaves the world as it was; one that is not is a failure."""
        world, twin = self._two()
        with contextlib.suppress(km.FileError):
            world.restore(data)
            raise AssertionError("World.restore takes what World.load refuses")
        for one in (world, twin):
            one.step(1)
        if world.hash() != twin.hash():
            raise AssertionError("a refused restore has changed the world")

    def accept(self, data: bytes, digest: str) -> None:
        """A restore makes the same world as a load."""
        world, _ = self._two()
        self.left = 0
        world.restore(data)
        if world.hash() != digest:
            raise AssertionError("World.load and World.restore make different worlds")

    def _two(self) -> tuple[km.World, km.World]:
        if self.first is None:
            self.first = BUSY["waiting"]()
            released(self.first)
        if not self.left:
            self.world, self.twin = self.first.branch(), self.first.branch()
            self.left = ROUNDS
        self.left -= 1
        return self.world, self.twin


_live = Live()


def _read_snapshot(path: Path) -> None:
    data = path.read_bytes()
    try:
        world = km.World.load(data)
    except km.FileError:
        _live.refuse(data)
        raise
    if data[30] % 8 == 0:  # of the checksum: some of them, for it takes long
        _live.accept(data, world.hash())
    released(world)
    probe(world)
    use(world)


def _journals() -> list[tuple[str, bytes]]:
    from tests.world.test_journal import busy

    found = []
    with _folder() as folder:
        for make in (asleep, ground):
            world = make()
            with world.record(folder / "a.journal", every=40):
                busy(world)
            found.append((".journal", (folder / "a.journal").read_bytes()))
    return found


# --------------------------------------------------------------------------------------------------------- evolution


STATS = {
    "episodes": 12, "best": 0.5, "mean": 0.2, "measure": 1.5, "heritability": None, "rejected": {"exploit": 1},
    "age": 1.0, "families": 2,
}  # fmt: skip


def _stores() -> list[tuple[str, bytes]]:
    """Runs of creatures that were never judged: all that a store can hold, without hours of search."""
    found = []
    draws = tuple(Draw(number, 11 * number + 1) for number in (0, 1, 1024, 1025))
    outcome = Outcome(0.5, 0.4, 1.5, "", 100, {"parts": 3.0, "length": 0.2, "segments": 2.0, "mass": 1.0})
    for search in ("default", "map-elites"):
        settings = Settings(task="locomotion", search=search, evaluator="serial")
        with _folder() as folder:
            with Store.create(folder / "run.db", facts(settings, problem_of(settings))) as store:
                people = []
                for k, name in enumerate(sorted(HANDMADE)[:3]):
                    text = handmade(name).to_json()
                    one = Individual(k, 0, text, (0, 1)[:k], "mutate" if k else "founder")
                    one.outcomes = dict.fromkeys(draws, outcome)
                    store.keep(Job(0, k, text, draws, one.parents, one.operator), Result(0, k, draws, (outcome,) * 4))
                    people.append(one)
                for generation in range(2):
                    store.complete(generation, people, STATS)
                store.note("ended", True)
                store._db.execute("PRAGMA journal_mode=DELETE")
            found.append((".db", (folder / "run.db").read_bytes()))
    return found


def _read_store(path: Path) -> None:
    with Store.open(path) as store:
        settings_in(store)
        for generation, rank in ((0, 0), (1, 2)):
            with contextlib.suppress(km.FileError):
                store.genotype(generation, rank)
        with contextlib.suppress(km.FileError):
            store.golden_hash()
        for draw in (Draw(0, 1), Draw(1, 12)):
            with contextlib.suppress(km.FileError):
                store.known(Job(0, 0, handmade(sorted(HANDMADE)[0]).to_json(), (draw,)))
        with contextlib.suppress(km.FileError):
            lineage(store, path.with_suffix(".csv"))
    report([path], path.with_suffix(".html"))


# ------------------------------------------------------------------------------------------------------------ kernels


def _pieces() -> tuple[bytes, bytes]:
    rng = np.random.default_rng(3)
    return rng.bytes(400), rng.bytes(60)


def _packs() -> list[tuple[str, bytes]]:
    kernel, note = _pieces()
    digests = [hashlib.sha256(piece).hexdigest() for piece in (kernel, note)]
    manifest = Manifest(
        PACK_FORMAT, package_digest(), versions(), settings_of_packs(), (host_triple(), "x86-64-v3", "+sse2"),
        ["world"], {"k" * 40: digests[0]}, {"n" * 40: digests[1]},
    )  # fmt: skip
    return [(".json", msgspec.json.encode(manifest))]


def _read_pack(path: Path) -> None:
    """A pack whose manifest this is: it is used as far as it fits, and no file outside of it is read."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        here = Path(folder)
        shutil.copyfile(path, here / MANIFEST)
        for name, piece in zip(("k" * 40 + KERNEL, "n" * 40 + NOTE), _pieces(), strict=True):
            (here / name).write_bytes(piece)
        pack = Pack(here)
        kernel, note = pack.read("k" * 40), pack.note("n" * 40)
        if kernel not in (None, _pieces()[0]) or note not in (None, _pieces()[1]):
            raise AssertionError("a pack has handed out another file than it says")
        pack.check()
        pack.covers("world")
        if pack.fault is not None and (not isinstance(pack.fault, str) or "\n" in pack.fault.strip()):
            raise AssertionError(f"the fault of a pack is no sentence: {pack.fault!r:.300}")


def _mesh_of_gem(folder: Path) -> Path:
    gem = Polyhedron.hull(np.random.default_rng(0).normal(size=(40, 3)))
    kept = keep_mesh(gem.points, gem.triangles)
    shutil.copyfile(kept, folder / "gem.stl")
    return folder / "gem.stl"


def _cache_entries() -> list[tuple[str, bytes]]:
    """An entry of the hulls, a note and a kernel."""
    found = []
    with _folder() as folder:
        gem = Polyhedron.hull(np.random.default_rng(0).normal(size=(40, 3)))
        hull_cache.save_hull(folder / "a.hull", gem.points, gem.loops, 0.0)
        found.append((".hull", (folder / "a.hull").read_bytes()[32:]))
    note = [
        "a" * 40,
        "b" * 40,
        ["kinemorph.world.step.many_steps", "kinemorph.contact.gauss_seidel.iteration"],
        ["numpy"],
    ]
    found.append((".note", msgspec.json.encode(note)))
    body = _pieces()[0]
    found.append((".kernel", machine_code.checksum("seed.kernel", body) + body))
    return found


def _spoil_entry(content: bytes, others: list[bytes], rng: Rng) -> bytes:
    if content[:2] == b"PK":
        return mutators.spoil_npz(content, [content], rng)
    if content[:1] == b"[":
        return mutators.spoil_json(content, [content], rng)
    return fuzz.mutated(content, [content], rng)


def _read_entry(path: Path) -> None:
    """What is in the cache is made again if it is damaged, and is never an error."""
    content = path.read_bytes()
    if path.suffix == ".note":
        known_keys.version_in(content)
    elif path.suffix == ".kernel":
        body = machine_code._content(path)
        if body not in (None, _pieces()[0]):
            raise AssertionError("a kernel that is not what was written would be run")
    else:
        path.write_bytes(hashlib.sha256(content).digest() + content)
        mesh = _mesh_of_gem(path.parent)
        polyhedron._hull_of_mesh.cache_clear()
        before = polyhedron.hull_entry
        polyhedron.hull_entry = lambda *_: path  # type: ignore[assignment]
        try:
            core, _ = core_of(km.Shape.mesh(mesh))
        finally:
            polyhedron.hull_entry = before
            mesh.unlink()
        world = km.World()
        world.add_ground()
        with contextlib.suppress(ValueError, km.WorldError):  # it may be flat, or enormous
            world.add(core, at=(0, 0, 2.0))
            world.add(core, at=(0.1, 0, 4.0))
            world.run(0.05)


# -------------------------------------------------------------------------------------------------------------- tables


def _of_fuzz(name: str, mutate: Any, *suffixes: str) -> Kind:
    """A kind of `tests.fuzz`, spoiled with knowledge of its format."""
    target = fuzz.TARGETS[name]

    def examples() -> list[tuple[str, bytes]]:
        all_of_them = [(suffix, content) for suffix, content in target.seeds() if len(content) <= target.most]
        return [seed for seed in all_of_them if not suffixes or seed[0] in suffixes]

    return Kind(examples, mutate, target.read)


def _read_again(read: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Read a model, and let what came of it be simulated: numbers that pass must not hurt kernels."""

    def both(path: Path) -> None:
        model = read(path)
        if model.n and model.n < 50:
            with contextlib.suppress(ValueError, ArithmeticError):
                world = km.World()
                world.add(model)
                world.step(2)

    return both


def _model(name: str, mutate: Any) -> Kind:
    kind = _of_fuzz(name, mutate)
    read = {
        "mjcf": lambda path: km.load_mjcf(path, root=path.parent),
        "urdf": km.load_urdf,
        "sdf": km.load_sdf,
    }[name]
    return Kind(kind.examples, kind.mutate, _read_again(read))


spoil_film = mutators.spoil_chunks(film.FILM_MAGIC, film.FILM_VERSION)

KINDS = {
    "snapshot": Kind(_snapshots, mutators.spoil_snapshot, _read_snapshot),
    "rows": Kind(_snapshots, mutators.spoil_rows, _read_snapshot),
    "journal": Kind(_journals, mutators.spoil_journal, km.World.rerun, (km.FileError, DivergenceError, km.WorldError)),
    "store": Kind(_stores, mutators.spoil_store, _read_store, (StoreError, km.FileError)),
    "scene": _of_fuzz("scene", mutators.spoil_toml),
    "mjcf": _model("mjcf", mutators.spoil_xml),
    "urdf": _model("urdf", mutators.spoil_xml),
    "sdf": _model("sdf", mutators.spoil_xml),
    "bvh": _of_fuzz("bvh", mutators.spoil_text),
    "c3d": _of_fuzz("c3d", mutators.spoil_binary),
    "hdf5": _of_fuzz("table", mutators.spoil_hdf5, ".h5"),
    "csv": _of_fuzz("table", mutators.spoil_text, ".csv"),
    "npz": _of_fuzz("recording", mutators.spoil_npz),
    "recording": _of_fuzz("film", spoil_film),
    "mesh": _of_fuzz("mesh", mutators.spoil_binary),
    "genotype": Kind(_of_fuzz("creature", None).examples, mutators.spoil_json, load_genotype),
    "pack": Kind(_packs, mutators.spoil_json, _read_pack),
    "cache": Kind(_cache_entries, _spoil_entry, _read_entry),
}
