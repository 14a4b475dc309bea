"""Genotype: the graph of nodes and connections that a creature grows from, as a value and as JSON.

Everything is kept that a node or a connection can have, used or not: what is junk now may be used after a mutation
(Fontijne 4.2). Values are immutable; operators make new ones. The caps below bound what a file may ask for. They are
wider than the ranges of `Settings`, which random creatures and mutations keep to.
"""

from __future__ import annotations

import hashlib
import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kinemorph._files import FileError, PathLike, read_bytes, write_whole
from kinemorph.brain import Function
from kinemorph.spatial.arguments.annotated import checked_first

LARGEST_GENOTYPE_BYTES = 1_000_000
LONGEST_REASON = 200  # characters
MOST_NODES, MOST_CONNECTIONS, MOST_NEURONS = 64, 256, 64  # of a genotype, and of a node or the central brain
MOST_REPLICATION = 64
SMALLEST, LARGEST = 1e-3, 10.0  # m, of half extents
LEAST_SCALE, MOST_SCALE = 0.1, 10.0
WIDEST_ANGLE = 2.0 * math.pi  # rad
LARGEST_GENE_WEIGHT = 100.0  # weight
APART = math.cos(math.radians(30.0))  # of two axes of a joint: their angle is larger than 30° (Fontijne 4.2)
UNIT = 1e-6  # by which the length of a direction may differ from 1

FUNCTIONS = {function.name.lower(): function for function in Function}

Size = Annotated[float, Meta(ge=SMALLEST, le=LARGEST)]
Angle = Annotated[float, Meta(ge=-WIDEST_ANGLE, le=WIDEST_ANGLE)]
Weight = Annotated[float, Meta(ge=-LARGEST_GENE_WEIGHT, le=LARGEST_GENE_WEIGHT)]
Entry = Annotated[float, Meta(ge=-1.0 - UNIT, le=1.0 + UNIT)]
Direction = tuple[Entry, Entry, Entry]
Limits = tuple[Angle, Angle]


class Form(StrEnum):
    """The base shape of a part. Its size scales it: half extents along x, y, z."""

    BOX = "box"
    SPHERE = "sphere"  # of the same volume as the ball with the three half extents
    CAPSULE = "capsule"  # along z; x and y give its radius
    CYLINDER = "cylinder"  # along z; x and y give its radius
    CONE = "cone"  # along z, the tip on top; x and y give the radius of its base


class From(StrEnum):
    """Where an input comes from. A source that does not exist reads 0."""

    ONE = "one"  # always 1
    LOCAL = "local"  # neuron `index` of the same part; of a global neuron, of the central brain
    PARENT = "parent"  # neuron `index` of the part that carries this one; of a global neuron, of the root
    CHILD = "child"  # neuron `index` of child `child`; of a global neuron, of a child of the root
    GLOBAL = "global"  # neuron `index` of the central brain
    ANGLE = "angle"  # of degree of freedom `index` of the part's joint
    SPEED = "speed"
    TOUCH = "touch"
    UP = "up"  # component `index` modulo 3
    DIRECTION = "direction"  # to the target, component `index` modulo 3
    DISTANCE = "distance"
    PLACE = "place"  # world coordinate `index` modulo 3 of the target


class Gene(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An evolvable object: a value whose members mutate, each in its own way (`genes.py`)."""


class Source(Gene, frozen=True):
    """Where an input comes from, as a relative address: the fourth neuron of the second child."""

    kind: From = From.ONE
    index: Annotated[int, Meta(ge=0, lt=MOST_NEURONS)] = 0
    child: Annotated[int, Meta(ge=0, lt=MOST_CONNECTIONS)] = 0


ONE = Source()


class NeuronGene(Gene, frozen=True):
    """A neuron: a function of three weighted inputs, of which it may use fewer."""

    function: str = "add"
    inputs: tuple[Source, Source, Source] = (ONE, ONE, ONE)
    weights: tuple[Weight, Weight, Weight] = (0.0, 0.0, 0.0)


class EffectorGene(Gene, frozen=True):
    """The neural input of one degree of freedom: what drives it, and how much."""

    input: Source = ONE
    weight: Weight = 0.0


REST = EffectorGene()


class Node(Gene, frozen=True):
    """A body part, the joint that carries it, and its local neurons."""

    form: Form = Form.BOX
    size: tuple[Size, Size, Size] = (0.1, 0.1, 0.1)  # half extents, m
    dof: Annotated[int, Meta(ge=1, le=3)] = 1  # degrees of freedom that are used
    axes: tuple[Direction, Direction, Direction] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # joint frame
    limits: tuple[Limits, Limits, Limits] = ((-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0))  # rad
    neurons: Annotated[tuple[NeuronGene, ...], Meta(max_length=MOST_NEURONS)] = ()
    effectors: tuple[EffectorGene, EffectorGene, EffectorGene] = (REST, REST, REST)
    replication: Annotated[int, Meta(ge=1, le=MOST_REPLICATION)] = 1  # how often the node may be used, or its cycles


class Connection(Gene, frozen=True):
    """A part of node `child` on every part of node `parent`."""

    parent: Annotated[int, Meta(ge=0, lt=MOST_NODES)]
    child: Annotated[int, Meta(ge=0, lt=MOST_NODES)]
    direction: Direction = (0.0, 0.0, 1.0)  # from the middle of the parent to where the child sits
    turn: Angle = 0.0  # rad, about the normal there
    reflected: bool = False
    scale: Annotated[float, Meta(ge=LEAST_SCALE, le=MOST_SCALE)] = 1.0
    terminal: bool = False  # only where the limit of the parent's node is used up


@checked_first
class Genotype(Gene, frozen=True, kw_only=True):
    """The whole description of a creature. Growth starts at the first node."""

    schema: Literal["kinemorph.genotype"] = "kinemorph.genotype"
    version: Literal[1] = 1
    nodes: Annotated[tuple[Node, ...], Meta(min_length=1, max_length=MOST_NODES)]
    connections: Annotated[tuple[Connection, ...], Meta(max_length=MOST_CONNECTIONS)] = ()
    neurons: Annotated[tuple[NeuronGene, ...], Meta(max_length=MOST_NEURONS)] = ()  # of the central brain

    def to_json(self) -> str:
        """One line, the same for the same genotype; `from_json` gives it back bit for bit."""
        return self.checked().line()

    def line(self) -> str:
        """The same, of one that is known to be `checked`."""
        return _ENCODER.encode(self).decode()

    @staticmethod
    def from_json(text: str | bytes, where: str = "genotype") -> Genotype:
        """Read and check a genotype. What is wrong with it is one sentence, which names the place after `where`."""
        try:
            data = text.encode() if isinstance(text, str) else text
            if len(data) > LARGEST_GENOTYPE_BYTES:
                raise FileError(f"{where}: it has {len(data)} bytes, the limit is {LARGEST_GENOTYPE_BYTES}")
            _HEAD.decode(data)
            genotype = _DECODER.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise FileError(f"{where}: {_decoder_sentence(error)}") from None
        if fault := _fault(genotype):
            raise FileError(f"{where}: {fault}")
        return genotype

    def checked(self) -> Genotype:
        """This genotype with numbers of the right types; ValueError if it is none that a file could have."""
        try:
            return Genotype.from_json(_ENCODER.encode(self))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(str(error)) from None

    @property
    def key(self) -> str:
        """SHA-256 of the JSON, hexadecimal: equal for equal genotypes."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


class _Head(msgspec.Struct):
    """The fields that a file must have before it is read as a genotype."""

    schema: Literal["kinemorph.genotype"]
    version: Literal[1]


_ENCODER = msgspec.json.Encoder()
_HEAD = msgspec.json.Decoder(_Head)
_DECODER = msgspec.json.Decoder(Genotype)


@checked_first
def save_genotype(genotype: Genotype, path: PathLike) -> Path:
    """Write a genotype as a JSON file that people can read, whole or not at all."""
    write_whole(path, msgspec.json.format(genotype.to_json(), indent=1).encode() + b"\n")
    return Path(path)


@checked_first
def load_genotype(path: PathLike) -> Genotype:
    """Read a genotype from a JSON file; FileError names the file and the place of what is wrong."""
    text = read_bytes(path, LARGEST_GENOTYPE_BYTES)
    genotype = Genotype.from_json(text, str(path))
    try:
        json.loads(text, object_pairs_hook=_refuse_duplicates)
    except ValueError as error:
        raise FileError(f"{path}: {error}") from None
    return genotype


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    """Refuse names that occur twice: only the last would count, and a reader may see the other."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:  # there are few: what is not known has been refused
            raise ValueError(f"`{name}` is said {names.count(name)} times in one object; say it once")


def _decoder_sentence(error: Exception) -> str:
    """The message of msgspec, with places as `nodes[0].size` instead of `$.nodes[0].size`."""
    text, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    text = " ".join(text.split())  # names of fields that it repeats may be of any length, and in lines
    text = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"
    said = text[:1].lower() + text[1:] if text[1:2].islower() else text  # JSON stays JSON
    return f"{place}: {said}" if place else said


def _fault(genotype: Genotype) -> str:
    """The first fault beyond the types and ranges of single values; empty if there is none."""
    count = len(genotype.nodes)
    for i, connection in enumerate(genotype.connections):
        for end in ("parent", "child"):
            if getattr(connection, end) >= count:
                return f"connections[{i}].{end}: there is no node {getattr(connection, end)}, only {count} nodes"
        if not _is_unit(connection.direction):
            return f"connections[{i}].direction: {connection.direction} is not of length 1"
    for i, node in enumerate(genotype.nodes):
        if fault := _node_fault(node):
            return f"nodes[{i}].{fault}"
    return _neuron_fault(genotype.neurons)


def _node_fault(node: Node) -> str:
    for k, axis in enumerate(node.axes):
        if not _is_unit(axis):
            return f"axes[{k}]: {axis} is not of length 1"
    if not independent(node.axes):
        return f"axes: two of {node.axes} are not more than 30° apart"
    for k, (low, high) in enumerate(node.limits):
        if not low < high:
            return f"limits[{k}]: the lower one, {low}, is not below the upper one, {high}"
    return _neuron_fault(node.neurons)


def _neuron_fault(neurons: tuple[NeuronGene, ...]) -> str:
    for k, neuron in enumerate(neurons):
        if neuron.function not in FUNCTIONS:
            return f"neurons[{k}].function: there is no {neuron.function[:40]!r}; there are {', '.join(FUNCTIONS)}"
    return ""


def independent(axes: tuple[Direction, Direction, Direction]) -> bool:
    """Whether the axes of a joint, unit vectors, are pairwise more than 30° apart, as lines."""
    (a, b, c), (d, e, f), (g, h, i) = axes
    return (
        abs(a * d + b * e + c * f) < APART and abs(a * g + b * h + c * i) < APART and abs(d * g + e * h + f * i) < APART
    )


def _is_unit(v: Direction) -> bool:
    return abs(math.hypot(*v) - 1.0) <= UNIT
