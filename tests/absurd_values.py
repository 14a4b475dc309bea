"""Every public function, constructor, method and setter, called with absurd values, one argument at a time.

    python -m tests.absurd_values [--only World.connect] [--values nan] [--share 1.0] [--seed 0] [--workers 1] [--all]

Of each a valid call is made from `tests.valid_calls`, and has to work. Then one of its arguments is replaced by each of
the values below. The outcome must be a result without NaN, or a refusal: an exception that the project raises by a
`raise` of its own, in a sentence that names the argument or its value. What refuses leaves worlds as they were. An
AttributeError from inside, a warning, a hang or a crash is a finding. All calls are made in child processes.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import inspect
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = float(os.environ.get("ABSURD_SECONDS", "10"))  # of one call; more is a hang
MEMORY = 6 * 2**30  # bytes of a child


class Unlike:
    """Nothing that anybody expects."""

    def __repr__(self) -> str:
        return "<Unlike>"


def recursive() -> list[Any]:
    """A list that is in itself."""
    made: list[Any] = [1.0]
    made.append(made)
    return made


ABSURD: dict[str, Callable[[Any], Any]] = {
    "None": lambda b: None,
    "0.5": lambda b: 0.5,
    "-1": lambda b: -1,
    "0": lambda b: 0,
    "10**4": lambda b: 10**4,
    "2**63": lambda b: 2**63,
    "-2**63": lambda b: -(2**63),
    "10**400": lambda b: 10**400,
    "nan": lambda b: float("nan"),
    "inf": lambda b: float("inf"),
    "-inf": lambda b: float("-inf"),
    "1e308": lambda b: 1e308,
    "1e-300": lambda b: 1e-300,
    "True": lambda b: True,
    "1j": lambda b: 1j,
    "np.int64(-7)": lambda b: np.int64(-7),
    "np.float32(nan)": lambda b: np.float32("nan"),
    "word": lambda b: "word",
    "empty word": lambda b: "",
    "zero byte": lambda b: "\0",
    "long word": lambda b: "x" * 100_000,
    "outside": lambda b: "../../../no/such/folder/../../x",
    "surrogate": lambda b: "\ud800",
    "bytes": lambda b: b"",
    "some bytes": lambda b: b"\x00\xff" * 20,
    "[]": lambda b: [],
    "()": lambda b: (),
    "{}": lambda b: {},
    "{1: 2}": lambda b: {1: 2},
    "set": lambda b: {1},
    "[None]": lambda b: [None],
    "[[]]": lambda b: [[], [1.0]],
    "['a', 1]": lambda b: ["a", 1],
    "object": lambda b: Unlike(),
    "class": lambda b: int,
    "function": lambda b: print,
    "generator": lambda b: (x for x in "ab"),
    "range": lambda b: range(3),
    "slice": lambda b: slice(0, 2),
    "array ()": lambda b: np.array(1.0),
    "array (0,)": lambda b: np.zeros(0),
    "array (3,)": lambda b: np.ones(3),
    "array (7,)": lambda b: np.ones(7),
    "array (2, 2, 2)": lambda b: np.ones((2, 2, 2)),
    "array of nan": lambda b: np.full(3, np.nan),
    "array of 1e308": lambda b: np.full(3, 1e308),
    "float32": lambda b: np.ones(3, np.float32),
    "strided": lambda b: np.ones(6)[::2],
    "read only": lambda b: np.frombuffer(np.ones(3).tobytes()),
    "complex": lambda b: np.ones(3, complex),
    "object array": lambda b: np.array([1.0, None, "a"], object),
    "text array": lambda b: np.array(["a", "b", "c"]),
    "structured": lambda b: np.zeros(3, [("a", "f8")]),
    "dates": lambda b: np.zeros(3, "M8[s]"),
    "masked": lambda b: np.ma.masked_all(3),
    "big endian": lambda b: np.ones(3, ">f8"),
    "backwards": lambda b: np.arange(1.0, 4.0)[::-1],
    "array (1, 3)": lambda b: np.ones((1, 3)),
    "truths": lambda b: np.ones(3, bool),
    "np.uint8(255)": lambda b: np.uint8(255),
    "np.True_": lambda b: np.True_,
    "Fraction": lambda b: Fraction(1, 3),
    "Decimal": lambda b: Decimal("NaN"),
    "digits": lambda b: "1",
    "within itself": lambda b: recursive(),
    "ellipsis": lambda b: ...,
    "memory": lambda b: memoryview(b"abcdefgh"),
    "{'x': nan}": lambda b: {"x": float("nan")},
    "a Path": lambda b: Path("no") / "such",
    "a Loop": lambda b: b.model.loops[0],
    "a Joint": lambda b: b.joint,
    "a Pose": lambda b: b.pose,
    "a Shape": lambda b: b.box,
    "a Model": lambda b: b.other_model,
    "a Data": lambda b: b.other_data,
    "a State": lambda b: b.other_state,
    "a World": lambda b: b.stranger,
    "a body of another world": lambda b: b.stranger["stranger"],
    "a removed body": lambda b: b.removed,
    "an Event": lambda b: b.event,
}


def _with_last(array: Any, value: float) -> Any:
    array.flat[-1] = value
    return array


# made of the valid argument, where that is an array: of its shape, so that checks of shapes do not answer for others
TWINS: dict[str, Callable[[Any], Any]] = {
    "twin, nan at its end": lambda a: _with_last(a, float("nan")),
    "twin, inf at its end": lambda a: _with_last(a, float("inf")),
    "twin, masked": lambda a: np.ma.masked_array(a, np.arange(a.size).reshape(a.shape) == a.size - 1),
    "twin, one longer": lambda a: np.concatenate([a, a[-1:]]),
    "twin, one shorter": lambda a: a[:-1],
    "twin, complex": lambda a: a + 0j,
    "twin, objects": lambda a: _with_last(a.astype(object), None),
    "twin, words": lambda a: a.astype(str),
    "twin, float32": lambda a: a.astype(np.float32),
    "twin, backwards in memory": lambda a: a[::-1].copy()[::-1],
    "twin, big endian": lambda a: a.astype(">f8"),
    "twin, zeros": lambda a: a * 0.0,
    "twin, 1e308 at its end": lambda a: _with_last(a, 1e308),
    "twin, -1e308 at its beginning": lambda a: _with_last(a[::-1].copy(), -1e308)[::-1],
    "twin, 1e300 of all": lambda a: a * 1e300,
    "twin, 1e-300 of all": lambda a: a * 1e-300,
    "twin, generator": lambda a: (x for x in a),
}


def twin(label: str, valid: Any) -> Any:
    """An absurd value beside a valid one; None if that is no array of numbers."""
    try:
        array = np.array(valid, np.float64)
    except (TypeError, ValueError):
        return None
    return TWINS[label](array) if array.ndim and array.size and not isinstance(valid, str | bytes) else None


# --------------------------------------------------------------------------------------------------- what is public


@dataclasses.dataclass(frozen=True)
class Public:
    """Something that users call: its name, how it is reached, and the names of its arguments."""

    name: str
    owner: str  # "" if it is no method of an object
    attribute: str
    arguments: tuple[str, ...]
    kind: str  # "function", "method" or "setter"

    def call(self, receiver: Any, given: dict[str, Any]) -> Any:
        if self.kind == "setter":
            return setattr(receiver, self.attribute, *given.values())
        found = getattr(receiver, self.attribute)
        named = {key: value for key, value in given.items() if not key.startswith("*")}
        first: list[Any] = []
        for parameter in inspect.signature(found).parameters.values():  # those that have to be positional
            if parameter.kind is parameter.POSITIONAL_ONLY:
                first.append(named.pop(parameter.name))
        return found(*first, *given.get("*", ()), **named)


def modules() -> dict[str, Any]:
    """The public modules, and what their names begin with here."""
    import kinemorph as km
    import kinemorph.gym
    from kinemorph.view.live import viewer

    found = {"": km, "viewer.": viewer, "gym.": kinemorph.gym, "tasks.": km.creatures.tasks}
    names = ("batch", "convert", "brain", "creatures", "evolve", "mocap")
    return found | {f"{name}.": getattr(km, name) for name in names}


def public() -> Iterator[Public]:
    """All of it."""
    seen: set[Any] = set()
    for prefix, module in modules().items():
        own = [n for n, v in vars(module).items() if n[0] != "_" and getattr(v, "__module__", "") == module.__name__]
        for name in getattr(module, "__all__", own):
            value = getattr(module, name)
            if not callable(value) or value in seen:  # `view` is a module that can be called
                continue
            seen.add(value)
            if not inspect.isclass(value):
                yield Public(prefix + name, "", name, arguments(value), "function")
            elif not issubclass(value, enum.Enum | BaseException):
                yield from _of_class(prefix + name, value)


def _of_class(name: str, kind: type) -> Iterator[Public]:
    from kinemorph.world.part import PartOf

    if not getattr(kind, "_is_protocol", False) and not inspect.isabstract(kind):
        yield Public(name, "", name.rpartition(".")[2], arguments(kind), "function")
    for attribute in dir(kind):
        ours = any(attribute in vars(c) and c.__module__.startswith("kinemorph") for c in kind.__mro__)
        operator = attribute in ("__getitem__", "__setitem__", "__contains__", "__matmul__", "__add__")
        if not ours or (attribute.startswith("_") and not operator):
            continue
        found = inspect.getattr_static(kind, attribute)
        if isinstance(found, PartOf):
            forwarded = {inspect.unwrap(one) for one in vars(kind).values() if inspect.isfunction(one)}
            for part in _of_class(f"{name}.{attribute}", found.kind):
                method = inspect.getattr_static(found.kind, part.attribute, None)
                if part.owner and inspect.unwrap(method) not in forwarded:  # those are called as the world's own
                    yield part
        elif isinstance(found, property):
            if found.fset:
                yield Public(f"{name}.{attribute}=", name, attribute, ("value",), "setter")
        elif isinstance(found, staticmethod | classmethod) or inspect.isfunction(found):
            whole = arguments(getattr(kind, attribute))
            bound = whole if isinstance(found, staticmethod | classmethod) else whole[1:]
            yield Public(f"{name}.{attribute}", name, attribute, bound, "method")


def arguments(function: Any) -> tuple[str, ...]:
    """Names of all arguments; variadic ones are no arguments to be absurd."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name if p.kind is not p.VAR_POSITIONAL else "*" for p in parameters if p.kind is not p.VAR_KEYWORD)


# --------------------------------------------------------------------------------------------------------- judging


def _raises(frame: Any, instruction: int) -> bool:
    """Whether a frame stands at a `raise` of its own."""
    import dis

    return dis.opname[frame.f_code.co_code[instruction]] in ("RAISE_VARARGS", "RERAISE")


def judge(error: BaseException, name: str, argument: str, value: Any, receiver: Any) -> str:
    """What is wrong with a refusal: "" if nothing is."""
    from kinemorph import LoopError, ModelWarning

    if isinstance(error, ModelWarning):
        return ""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = trace.tb_frame.f_code.co_filename if trace else ""
    place = f"{where.rpartition('src/')[2]}:{trace.tb_lineno}" if trace else "?"
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, Warning):
        return f"warning: {text[:160]} ({place})"
    if isinstance(error, OSError) and error.filename is not None:
        return ""  # Python's sentence, which names the file
    ours = "/kinemorph/" in where and "/tests/" not in where and "/kinemorph/jit/" not in where
    if trace is None or not (ours and _raises(trace.tb_frame, trace.tb_lasti)):
        if isinstance(error, TypeError) and trace is not None and "/tests/" in where and "argument" in text:
            return ""  # Python's own sentence on a missing or surplus argument
        return f"from inside: {text[:160]} ({place})"
    words = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    value = ABSURD["long word"](None) if argument == "" else value
    if isinstance(value, str) and len(value) > 100:
        words = words.replace(value, "...")  # a name may be as long as its owner wants
    if len(words) < 12 or " " not in words:
        return f"no sentence: {text[:160]} ({place})"
    if "\n" in words or len(words) > 1200:
        return f"no one sentence of a bearable length: {text[:160]!r}, {len(words)} characters ({place})"
    if (
        isinstance(error, ArithmeticError | LoopError)
        and is_huge(value)
        and any(w in words for w in ("finite", "too", "open by"))
    ):
        return ""  # what has come of it is too large
    if not names(words, name, argument, value):
        return f"names neither the argument nor its value: {text[:160]} ({place})"
    return ""


def is_huge(value: Any) -> bool:
    """Whether it is, or has, a number that takes others beyond all bounds."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            return bool(np.abs(np.asarray(value, dtype=np.float64)).max() > 1e100)
        except (TypeError, ValueError, OverflowError):
            return False


def names(words: str, name: str, argument: str, value: Any) -> bool:
    """Whether a sentence names an argument, the thing that it is, or its value."""
    low, plain = words.lower(), argument.lower().strip("_").replace("_", " ")
    own = name.lower().removesuffix("=").split(".")[-1]
    known = {plain, argument.lower(), plain.rstrip("s"), plain.removesuffix("ies") + "y", own}
    if any(word and word in low for word in known):
        return True
    if any(noun in low for noun in CALLED.get(argument, ())):
        return True
    if len(words) < len(str(value)) and words.count("..."):
        return True
    parts = [value, *(value if isinstance(value, list | tuple | set | dict | range) else ())]
    if isinstance(value, np.ndarray):
        parts = [value, value.tolist(), *value.ravel().tolist()[:3], value.shape]
    texts = {text for part in parts for text in (" ".join(repr(part).split())[:20], str(part)[:20])}
    texts |= {repr(part.name) for part in parts if isinstance(getattr(part, "name", None), str)}
    return any(text in words for text in texts)


# what sentences call an argument by
CALLED = {
    "density": ("mass",), "model": ("column",), "motion": ("q has",),
    "data": ("snapshot",), "what": ("body", "shape", "figure"), "at": ("pose", "position", "com"), "on": ("pose",),
    "com": ("position",), "place": ("link",), "keep": ("joint", "degrees of freedom"),
    "actuated": ("joint", "degrees of freedom"),
    "state": ("q has", "v has", "this data"),
    "forces": ("tau",), "external": ("force",), "ghosts": ("q has",), "id": ("box", "shape", "body", "joint"),
    "name": ("actuator", "body", "figure", "joint"), "told": ("control",), "a": ("body", "shape", "box", "joint"),
    "b": ("body", "shape", "box", "joint"), "ids": ("box",), "lows": ("box",),
    "highs": ("box",), "bodies": ("body",), "low": ("box",), "high": ("box",),
    "Q": ("v has shape",), "points": ("vertices", "vertex"), "q": ("frames",), "one": ("genotype",),
    "other": ("genotype",),
    "damping": ("finite",), "at_a": ("pose",), "at_b": ("pose",), "to": ("body",),
    "value": ("body",), "text": ("genotype",), "source": ("path",), "root": ("body",), "loops": ("face",),
    "gap": ("loop is open",), "usual": ("it does not say",),
    "free": ("joint",), "side": ("joint", "link", "body"), "path": ("meshes",), "bone": ("joint", "link"),
}  # fmt: skip


def has_nan(result: Any, depth: int = 0) -> bool:
    """Whether there is a NaN in a result: in arrays, numbers, tuples, and in what objects have."""
    if isinstance(result, np.ndarray):
        if result.dtype.names:
            return any(has_nan(result[name], depth + 1) for name in result.dtype.names)
        return result.dtype.kind in "fc" and bool(np.isnan(result).any())
    if isinstance(result, float | np.floating):
        return bool(np.isnan(result))
    if depth > 2:
        return False
    if isinstance(result, tuple | list):
        return any(has_nan(one, depth + 1) for one in result[:20])
    if isinstance(result, dict):
        return any(has_nan(one, depth + 1) for one in list(result.values())[:20])
    if type(result).__module__.startswith("kinemorph") and type(result).__name__ in HOLD_NUMBERS:
        return any(has_nan(one, depth + 1) for one in vars(result).values())
    return False


# gaps of markers, points, what a caller wants instead
HAND_ON_NAN = {"Markers", "State", "Pose.apply", "evolve.Store.fact", "mocap.Contacts.floor", "evolve.Recipe.value"}
HAND_ON_NAN |= {"World.queries.tree_of"}  # scratch fields of rows that no step has written
HOLD_NUMBERS = {"Pose", "Inertia", "Joint", "Material", "Shape", "ForceElement", "Markers"}


ANYTHING = ("usual", "memory", "actions", "options")  # arguments that are handed on, or not looked at


def is_masked(value: Any) -> bool:
    """Whether entries of an array are masked."""
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


class Hang(BaseException):
    """A call that took too long."""


def _ring(*_: Any) -> None:
    raise Hang


def trial(one: Public, argument: str, label: str) -> str:
    """Make a call with an absurd value, or the valid one if `argument` is "". What is wrong with the outcome."""
    from tests.valid_calls import Bench, kwargs_of, receiver_of, state_of, used

    from kinemorph.evolve import Store

    with Bench() as bench, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        receiver = receiver_of(one, bench)
        given = kwargs_of(one, bench)
        value = None
        if label in TWINS:
            value = twin(label, given.get(argument) if argument != "*" else None)
            if value is None:
                return ""
            given[argument] = value
        elif argument:
            value = ABSURD[label](bench)
            given[argument] = (value,) if argument == "*" else value
        elif one.kind == "setter":
            value = given["value"]
        before = state_of(receiver, bench)
        warnings.simplefilter("error")
        signal.setitimer(signal.ITIMER_REAL, SECONDS if argument else 0.0)  # the valid call may compile kernels
        try:
            try:
                result = one.call(receiver, given)
                if inspect.isgenerator(result):
                    list(result)
                record = isinstance(result, tuple) and type(result).__name__ == one.attribute
                wrong = "NaN in the result" if argument and not record and has_nan(result) else ""
                if one.name in HAND_ON_NAN and wrong:
                    wrong = ""
                if (
                    not wrong
                    and label in TWINS
                    and is_masked(value)
                    and argument not in ANYTHING
                    and one.name not in HAND_ON_NAN
                ):
                    wrong = "accepted, with what is masked"
                if not wrong and argument:
                    wrong = used(one, receiver, result, bench)
                for made in result if isinstance(result, tuple) else (result,):
                    if isinstance(made, Store):  # or the next call finds it in use
                        made.close()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
        except Hang:
            return "hang"
        except MemoryError:
            return f"memory: more than {MEMORY / 2**30:g} GB"
        except BaseException as error:
            if not argument:
                import traceback

                text = f"{type(error).__name__}: {str(error)[:200]}"
                return f"the valid call: {text} {traceback.format_exc(limit=-2)[-300:]}"
            wrong = judge(error, one.name, argument, value, receiver)
            if not wrong and state_of(receiver, bench) != before:
                wrong = f"refused, and changed nevertheless: {error}"
        return wrong


# ------------------------------------------------------------------------------------------------------- processes


def cases(only: str = "", share: float = 1.0, seed: int = 0, values: str = "") -> list[tuple[str, str, str]]:
    """What to try: the name of a callable, an argument and the name of a value; the valid call has no argument."""
    from tests.valid_calls import SKIPPED, arguments_of

    rng = np.random.default_rng(seed)
    labels = [label for label in (*ABSURD, *TWINS) if not values or re.fullmatch(values, label)]
    found = []
    for one in public():
        if one.name in SKIPPED or (only and not re.fullmatch(only, one.name)):
            continue
        here = [(one.name, argument, label) for argument in arguments_of(one) for label in labels]
        here = [case for case in here if case[1] not in LONG or case[2] not in ("10**4", "np.uint8(255)")]
        here = [case for case in here if case[:2] not in CALLS or case[2] not in ("class", "function")]
        if share < 1.0:
            here = [case for case in here if rng.random() < share]
        if here or share >= 1.0:
            found += [(one.name, "", ""), *here]
    return found


LONG = ("seconds", "duration", "times", "rate", "draws")  # so many of them are no absurd value, but take long
CALLS = {("evolve.evolve", "watch")}  # what it is given: its errors are those of its user


def warm() -> None:
    """Compile what worlds need: an alarm in the middle of that would end the process."""
    from tests.valid_calls import Bench

    world = Bench().world
    world.when(Bench.event)
    world.step(2)
    world.hash()


def child(first: int, last: int, selection: dict[str, Any]) -> None:
    """Try cases, and tell of each when it begins and how it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _ring)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    sys.stdout.flush()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.chdir(tempfile.mkdtemp(prefix="absurd-"))
    all_public = {one.name: one for one in public()}
    warm()
    for number, (name, argument, label) in enumerate(cases(**selection)):
        if first <= number < last:
            print(json.dumps([number, None]), file=out)
            print(json.dumps([number, trial(all_public[name], argument, label)]), file=out)


Case = tuple[str, str, str]


def run(
    selection: dict[str, Any],
    tell: Callable[[Case, str], None] = lambda case, wrong: None,
    patience: float = 4 * SECONDS,
    first_patience: float = 300.0,
) -> dict[Case, str]:
    """Try all cases of a selection in child processes: what is wrong, by case; `tell` hears of it at once."""
    todo = cases(**selection)
    wrong: dict[tuple[str, str, str], str] = {}
    first = 0
    while first < len(todo):
        command = [sys.executable, "-m", "tests.absurd_values", "--child", str(first), json.dumps(selection)]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
            assert process.stdout is not None
            current, wait, buffer, silent = first, first_patience, b"", False
            while not silent:
                ready, _, _ = select.select([process.stdout], [], [], wait)
                piece = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
                silent = not ready
                if not piece:
                    break
                *lines, buffer = (buffer + piece).split(b"\n")
                for line in lines:
                    number, verdict = json.loads(line)
                    current, wait = number, patience
                    if verdict is not None:
                        current = number + 1
                        if verdict:
                            wrong[todo[number]] = verdict
                            tell(todo[number], verdict)
            process.kill()
            process.stdout.close()
            code = process.wait()
            errors.seek(0)
            error = errors.read()[-400:].decode(errors="replace")
        if current < len(todo):
            how = "hang in a kernel" if silent else f"crash ({code}): {error}"
            wrong[todo[current]] = how
            tell(todo[current], how)
            current += 1
        first = current
    return wrong


def said(case: Case, what: str) -> str:
    """A finding, as one line."""
    name, argument, label = case
    return " ".join(f"{name}({argument}={label}): {what}".split()) if argument else f"{name}: {what}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression that the whole name matches")
    parser.add_argument("--values", default="", help="a regular expression that the whole name of a value matches")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--names", action="store_true", help="only list what would be called")
    given = parser.parse_args()
    if given.child:
        child(int(given.child[0]), sys.maxsize, json.loads(given.child[1]))
        return
    selection = {"only": given.only, "share": given.share, "seed": given.seed, "values": given.values}
    todo = cases(**selection)
    if given.names:
        print("\n".join(sorted({name for name, _, _ in todo})))
        return
    began = time.time()
    wrong = run(selection, lambda case, what: print(said(case, what), flush=True))
    calls = len({name for name, _, _ in todo})
    print(f"{len(todo)} calls of {calls} functions and methods in {time.time() - began:.0f} s: {len(wrong)} findings")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
