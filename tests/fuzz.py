"""Files that somebody broke: small real ones, mutated, must be read or refused with one good sentence.

    python -m tests.fuzz mjcf urdf sdf bvh mesh table c3d scene creature recording film snapshot --files 100000
        [--seed 0] [--keep FOLDER]

Each file is made of a seed and a number, so that a failure can be made again. No reader may raise anything but
`FileError`, take more than a few seconds or a lot of memory, or open a file outside the folder that the file lies in.
An error is one line that begins with the file and, where that is text, its line and the element.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.mujoco_twin import gymnasium_files

import kinemorph as km
from kinemorph.creatures.genotype.genotype import load_genotype
from kinemorph.geometry.meshes.kept_mesh import keep_mesh
from kinemorph.geometry.meshes.mesh import load_weighed_mesh
from kinemorph.io.motion.bvh import format_bvh
from kinemorph.jit.api import cache_folder

SECONDS = 10.0  # for one file
MEMORY = 2 * 2**30  # bytes more than the process has when it starts
LONGEST_LINE = 1000  # characters of an error
MOST_SEED = 40_000  # bytes of a file to begin with: small ones are mutated more thoroughly

NUMBERS = (
    b"0", b"-1", b"1e308", b"1e309", b"-1e300", b"nan", b"inf", b"1e-320", b"99999999999999999999", b"0x10", b"1_0",
    b"", b" ", b"1 2 3 4 5 6 7 8 9", b"2147483648", b"-2147483649", b"4294967296", b"0.1.2", b"1,2", "\u0661".encode(),
)  # fmt: skip
TOKENS = (
    b"<include file='../../etc/passwd'/>", b"<include file='seed.xml'/>", b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&a;",
    b"<a>" * 200, b"<mesh name='m' file='/etc/passwd.stl'/>", b"<body name='b'>", b"</body>", b"<joint/>", b"<geom/>",
    b"<replicate count='200000'>", b"type='free'", b"name=''", b"\x00", b"\xff\xfe", b"<![CDATA[", b"-->", b"<!--",
    b"<default class='c'>" * 60, b"<frame>" * 300, b"<replicate count='99'>" * 3,
    b"class='nowhere'", b"<default class='main'>", b"parent", b"world", b"../" * 40, b"package://a/../../b.stl",
)  # fmt: skip
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]*)?(?:e-?[0-9]+)?")
_WORD = re.compile(rb"[A-Za-z_]{3,}")


@dataclass(frozen=True)
class Target:
    """One kind of file: some to begin with, and how they are read."""

    suffixes: tuple[str, ...]
    seeds: Callable[[], list[tuple[str, bytes]]]  # a suffix, and a content
    read: Callable[[Path], Any]
    errors: str  # what they name: "element", "line", or "" for files that have none
    most: int = MOST_SEED


# -------------------------------------------------------------------------------------------------- where they start


def _mjcf_seeds() -> list[tuple[str, bytes]]:
    from tests.io.test_from_mujoco import MACHINE
    from tests.io.test_mjcf import TREES

    own = [f"<mujoco>{text}</mujoco>" for text in TREES.values()]
    fitted = """<mujoco><compiler fitaabb="true"/><asset>
    <mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 2  0.1 0.1 0.1" scale="2 1 -1" refquat="1 0 0.1 0"/></asset>
    <worldbody><body><joint/><geom type="capsule" mesh="m" fitscale="1.1"/><geom type="mesh" mesh="m" mass="1"/></body>
    </worldbody></mujoco>"""
    return [(".xml", text.encode()) for text in (MACHINE, fitted, *own)] + [
        (".xml", path.read_bytes()) for path in gymnasium_files()
    ]


def _urdf_seeds() -> list[tuple[str, bytes]]:
    from kinemorph.scenes.robots.catalog import robot_files

    found = sorted(robot_files().values(), key=lambda path: path.stat().st_size)
    return [(".urdf", path.read_bytes()) for path in found[:12]]


def _sdf_seeds() -> list[tuple[str, bytes]]:
    b = km.Builder("mechanism")
    rod = km.Inertia.box(1.0, (0.1, 0.1, 1.0))
    shapes = [km.Shape.box((1, 1, 1)), km.Shape.capsule(0.1, 0.2, name="c"), km.Shape.sphere(0.1)]
    b.link("a", joint=km.Joint.revolute("y", lower=-1, upper=1, damping=1.0), inertia=rod, shapes=shapes)
    b.link("b", "a", km.Joint.universal(), at=(0, 0, 1), inertia=rod)
    b.link("c", "b", km.Joint.screw("z", 0.1), at=(0, 0, 1), inertia=rod)
    b.link("d", joint=km.Joint.free(name="root_joint"), inertia=rod)
    b.loop("c", "a", km.Joint.revolute("y"), (0, 0, 1), (0, 0, 3), "closing")
    with _folder() as folder:
        return [(".sdf", km.save_sdf(b.build(), folder / "a.sdf").read_bytes())]


def _mesh_seeds() -> list[tuple[str, bytes]]:
    box = km.mesh_of(km.Shape.box((1, 2, 3)))
    head = np.array([len(box.vertices), 0, 0, len(box.faces)], "<i4").tobytes()
    corners = " ".join(f"{x} {y} {z}" for x, y, z in box.vertices)
    lines = [f"v {x} {y} {z}" for x, y, z in box.vertices] + [f"f {a}/1 {b}/2 {c}" for a, b, c in box.faces + 1]
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in box.vertices[face])
        + "endloop\nendfacet\n" for face in box.faces
    )  # fmt: skip
    index = " ".join(str(i) for i in box.faces.ravel())
    dae = f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
    <asset><unit meter="0.1"/></asset><library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="{3 * len(box.vertices)}">{corners}</float_array><technique_common>
    <accessor source="#a" count="{len(box.vertices)}" stride="3"><param name="X" type="float"/>
    <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="{len(box.faces)}"><input semantic="VERTEX" source="#v" offset="0"/><p>{index}</p></triangles>
    </mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node>
    <matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#g"/></node></visual_scene>
    </library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
    return [
        (".stl", keep_mesh(box.vertices, box.faces).read_bytes()),
        (".stl", f"solid box\n{facets}endsolid box\n".encode()),
        (".obj", ("mtllib a.mtl\nusemtl red\n" + "\n".join(lines)).encode()),
        (".obj", ("o one\n" + "\n".join(lines[:20]) + "\no two\nf 1 3 4 2\nf 1 2 3 4 5 6 8 7\nf -1 -2 -4").encode()),
        (".msh", head + box.vertices.astype("<f4").tobytes() + box.faces.astype("<i4").tobytes()),
        (".dae", dae.encode()),
    ]


def _recording_seeds() -> list[tuple[str, bytes]]:
    b = km.Builder("pendulum")
    b.link("arm", joint=km.Joint.revolute("y"), inertia=km.Inertia.box(1.0, (1, 1, 1)), shapes=km.Shape.box((1, 1, 1)))
    model = b.build()
    recording = km.Recording("swing")
    for t in (0.0, 0.1, 0.2):
        recording.add(model, np.array([t]), t)
    with _folder() as folder:
        recording.save(folder / "a.npz")
        return [(".npz", (folder / "a.npz").read_bytes())]


def _film_seeds() -> list[tuple[str, bytes]]:
    from tests.world.kept_worlds import asleep

    world = asleep()
    with _folder() as folder:
        with km.film(world, folder / "a.film"):
            world.run(0.1)
            world.connect(world.bodies[0], world.bodies[1], km.Joint.fixed())
            world.run(0.05)
        return [(".film", (folder / "a.film").read_bytes())]


def _snapshot_seeds() -> list[tuple[str, bytes]]:
    """Contents of snapshots, without the head that has their checksum: `_read_snapshot` writes one that is right."""
    from tests.world.kept_worlds import SMALL, content_of

    return [(".world", content_of(make().save())) for make in SMALL.values()]


def _read_snapshot(path: Path) -> Any:
    from tests.world.kept_worlds import resealed, spoiled, use

    content = path.read_bytes()
    rng = np.random.default_rng(len(content))
    for data in (content, resealed(content), resealed(spoiled(content, rng)) if len(content) > 4000 else b""):
        try:
            world = km.World.load(data)
        except km.FileError as error:
            last = error
        else:
            use(world)
    raise km.FileError(f"{path}: {last}") from None


def _bvh_seeds() -> list[tuple[str, bytes]]:
    walk = km.load_bvh(km.mocap.walk_file())
    few = km.Bvh(walk.joints, walk.frames[::40], 40 * walk.dt)
    odd = """HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0
    CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation yrotation
    JOINT a\n{\nOFFSET 0 1 0\nCHANNELS 0\nEnd Site\n{\nOFFSET 0 1 0\n}\nEnd Site {\nOFFSET 1 0 0\n}\n}\n}
    MOTION\nFrames: 2\nFrame Time: 0.01\n0 0 0 1 2 3\n1e-3 0 0 1 2 3\n"""
    return [(".bvh", text.encode()) for text in (format_bvh(few, 3), odd)]


def _read_bvh(path: Path) -> Any:
    """The file; and a body of it, or a sentence why there is none."""
    bvh = km.load_bvh(path)
    with contextlib.suppress(ValueError):
        km.mocap.body_of(bvh)


def _table_seeds() -> list[tuple[str, bytes]]:
    columns = {"time": np.linspace(0.0, 1.0, 7), "q a": np.arange(7.0), "foot": ["left", 'a "b"'] * 3 + ["x,y"]}
    with _folder() as folder:
        found = []
        for suffix in (".csv", ".h5"):
            km.save_table(folder / f"a{suffix}", columns, {"model": "arm"})
            found.append((suffix, (folder / f"a{suffix}").read_bytes()))
        return found


def _c3d_seeds() -> list[tuple[str, bytes]]:
    with _folder() as folder:
        km.save_c3d(km.Markers(("LHEE", "RTOE"), np.arange(42.0).reshape(7, 2, 3), 100.0), folder / "a.c3d")
        return [(".c3d", (folder / "a.c3d").read_bytes())]


def _scene_seeds() -> list[tuple[str, bytes]]:
    folder = Path(km.__file__).parent / "scenes/data"
    return [(".toml", path.read_bytes()) for path in sorted(folder.glob("*.toml"))]


def _creature_seeds() -> list[tuple[str, bytes]]:
    from kinemorph.creatures.gallery import HANDMADE, handmade

    return [(".json", handmade(name).to_json().encode()) for name in HANDMADE]


def _read_mesh(path: Path) -> Any:
    """As it is drawn, and as it is weighed in MJCF."""
    return km.load_mesh(path), load_weighed_mesh(path)


def _read_urdf(path: Path) -> Any:
    return km.load_urdf(path), km.load_urdf(path, floating=True, merge_fixed=False)


TARGETS = {
    "mjcf": Target((".xml",), _mjcf_seeds, lambda path: km.load_mjcf(path, root=path.parent), "element"),
    "urdf": Target((".urdf",), _urdf_seeds, _read_urdf, "element"),
    "sdf": Target((".sdf",), _sdf_seeds, km.load_sdf, "element"),
    "bvh": Target((".bvh",), _bvh_seeds, _read_bvh, "line"),
    "table": Target((".csv", ".h5"), _table_seeds, km.load_table, ""),
    "c3d": Target((".c3d",), _c3d_seeds, km.load_c3d, ""),
    "scene": Target((".toml",), _scene_seeds, km.load_scene, ""),
    "creature": Target((".json",), _creature_seeds, load_genotype, ""),
    "mesh": Target((".stl", ".obj", ".msh", ".dae"), _mesh_seeds, _read_mesh, ""),
    "recording": Target((".npz",), _recording_seeds, km.Recording.load, ""),
    "film": Target((".film",), _film_seeds, km.Recording.load, ""),
    "snapshot": Target((".world",), _snapshot_seeds, _read_snapshot, "", 100_000),
}

# --------------------------------------------------------------------------------------------------------- mutations


def mutated(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """A file with a few things wrong."""
    for _ in range(int(rng.integers(1, 5))):
        content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](content, others, rng)[: 4 * max(MOST_SEED, len(content))]
    return content


def _at(content: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(content) + 1))


def _flip(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 8))):
        if changed:
            changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def _cut(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    start = _at(content, rng)
    return content[:start] + content[start + int(rng.integers(1, 200)) :]


def _truncate(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    return content[: _at(content, rng)]


def _repeat(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    start = _at(content, rng)
    piece = content[start : start + int(rng.integers(1, 300))]
    return content[:start] + piece * int(rng.integers(2, 40)) + content[start:]


def _number(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    found = list(_NUMBER.finditer(content))
    if not found:
        return content
    match = found[int(rng.integers(len(found)))]
    return content[: match.start()] + NUMBERS[int(rng.integers(len(NUMBERS)))] + content[match.end() :]


def _token(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    start = _at(content, rng)
    return content[:start] + TOKENS[int(rng.integers(len(TOKENS)))] + content[start:]


def _swap_words(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    found = list(_WORD.finditer(content))
    if len(found) < 2:
        return content
    one, two = (found[int(rng.integers(len(found)))] for _ in range(2))
    return content[: one.start()] + two.group() + content[one.end() :]


def _splice(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    other = others[int(rng.integers(len(others)))]
    start = _at(other, rng)
    place = _at(content, rng)
    return content[:place] + other[start : start + int(rng.integers(1, 2000))] + content[place:]


def _swap_lines(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    i, j = (int(rng.integers(len(lines))) for _ in range(2))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


MUTATIONS = (_flip, _cut, _truncate, _repeat, _number, _number, _number, _token, _swap_words, _splice, _swap_lines)

# ------------------------------------------------------------------------------------------------------------ judging


class Watch:
    """Notes which files are opened while one is read: outside of the folder there is nothing to look for."""

    def __init__(self) -> None:
        self.folder = ""
        self.strayed: list[str] = []
        # the interpreter may import or quote something late, and hulls and kernels are kept
        own = (Path(km.__file__).parent, Path(__file__).parent, cache_folder())
        self.known = tuple(os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, *own))
        sys.addaudithook(self._opened)

    def _opened(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not self.folder or not isinstance(arguments[0], str | bytes):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if not path.startswith((self.folder, *self.known)):
            self.strayed.append(path)


_watch: Watch | None = None


def check(target: Target, path: Path) -> str:
    """What is wrong with how a file is read; empty if it is read or refused as it should be."""
    global _watch
    _watch = _watch or Watch()  # a hook cannot be taken away again
    _watch.folder, _watch.strayed = os.path.realpath(path.parent), []
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as said, _time_limit():
            warnings.simplefilter("always")
            target.read(path)
    except km.FileError as error:
        fault = _fault_of(str(error), target, path)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        where = traceback.extract_tb(error.__traceback__)[-4:]
        way = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in where)
        fault = f"{type(error).__name__}: {error} at {way}"
    else:
        odd = [w for w in said if not issubclass(w.category, km.ModelWarning)]
        fault = f"it warned: {odd[0].category.__name__}: {odd[0].message}" if odd else ""
    finally:
        _watch.folder = ""
    if not fault and _watch.strayed:
        fault = f"it opened {_watch.strayed[0]}"
    if not fault and time.perf_counter() - start > SECONDS:
        fault = f"it took {time.perf_counter() - start:.1f} s"
    return fault


def _fault_of(sentence: str, target: Target, path: Path) -> str:
    if "\n" in sentence or len(sentence) > LONGEST_LINE + len(str(path)):
        return f"the error is not one short line: {sentence[:300]!r}"
    if not sentence.startswith(str(path.parent)):
        return f"the error does not begin with the file: {sentence}"
    placed = re.match(r".*?:([0-9]+): (.*)", sentence)
    whole = placed and ("not XML" in placed[2] or "encoding" in placed[2])
    if target.errors == "element" and placed and "<" not in placed[2] and not whole:
        return f"the error names no element: {sentence}"
    if target.errors == "line" and not re.match(r".*?, line [0-9]+: ", sentence):
        return f"the error names no line: {sentence}"
    return ""


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def run(name: str, files: int, seed: int = 0, keep: Path | None = None, most: int = 20) -> list[tuple[int, str]]:
    """Mutate and read files of a kind. Returns the numbers of those that went wrong, and how."""
    target = TARGETS[name]
    seeds = [(suffix, content) for suffix, content in target.seeds() if len(content) <= target.most]
    contents = [content for _, content in seeds]
    bad: list[tuple[int, str]] = []
    with _folder() as folder:
        for suffix, content in seeds:  # what compiles when it is first used is not to be blamed on a file
            (folder / f"seed{suffix}").write_bytes(content)
            with warnings.catch_warnings(), contextlib.suppress(km.FileError):
                warnings.simplefilter("ignore")
                target.read(folder / f"seed{suffix}")
        for number in range(files):
            rng = np.random.default_rng([seed, number])
            suffix, content = seeds[int(rng.integers(len(seeds)))]
            path = folder / f"seed{suffix}"
            path.write_bytes(mutated(content, contents, rng))
            fault = check(target, path)
            if fault:
                bad.append((number, fault))
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, keep / f"{name}-{seed}-{number}{suffix}")
                if len(bad) >= most:
                    break
            elif number % 1000 == 999:
                print(f"{name}: {number + 1} files", end="\r", file=sys.stderr)
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(TARGETS)}; all if none is named")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz_failures"))
    told = parser.parse_args()
    if os.path.exists("/proc/self/statm"):
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    failed = False
    for name in told.kinds or TARGETS:
        start = time.perf_counter()
        bad = run(name, told.files, told.seed, told.keep)
        seconds = time.perf_counter() - start
        print(f"{name}: {told.files} files in {seconds:.0f} s, {len(bad)} went wrong")
        for number, fault in bad:
            print(f"  file {number}: {fault}")
        failed |= bool(bad)
    sys.exit(failed)


if __name__ == "__main__":
    main()
