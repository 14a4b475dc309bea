"""Tables over time: CSV for everybody, HDF5 (the extra `io`) for long ones. Trajectories are such tables."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._files import FileError, PathLike, quoted, read_bytes, write_whole
from kinemorph.io.motion.hdf5 import LARGEST_TABLE_BYTES, MOST_COLUMNS, h5py, load_hdf5
from kinemorph.motion.rollout import Trajectory
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Array

Columns = Mapping[str, Any]  # name: numbers (frames,) or texts


@checked_first
def save_table(path: PathLike, columns: Columns, about: Mapping[str, Any] | None = None) -> None:
    """Write columns of equal length: into a CSV file, or, if it is called .h5 or .hdf5, into datasets of an HDF5 file.

    `about` are attributes, texts or numbers: of an HDF5 file, or comments at the top of a CSV file.
    """
    path = Path(path)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    lengths = {len(values) if values.ndim == 1 else -1 for values in arrays.values()}
    if len(lengths) != 1 or -1 in lengths:
        raise ValueError(f"{path}: columns must be one-dimensional and of one length")
    if path.suffix.lower() in (".h5", ".hdf5"):
        whole = io.BytesIO()
        with h5py().File(whole, "w") as file:
            for key, value in (about or {}).items():
                _put(f"{path}: attribute {repr_of(key)}", file.attrs.__setitem__, key, value)
            for name, values in arrays.items():
                data = values if values.dtype.kind in "biuf" else [str(x) for x in values]
                if "/" in name:  # it separates groups
                    raise ValueError(f"{path}: column {repr_of(name)}: names in an HDF5 file have no /; write a .csv")
                _put(f"{path}: column {repr_of(name)}", file.create_dataset, name, data=data)
            _put(f"{path}: names of columns", file.attrs.__setitem__, "columns", [*arrays])
        write_whole(path, whole.getvalue())
    elif path.suffix.lower() == ".csv":
        texts = [_texts(values) for values in arrays.values()]
        lines = [f"# {key}: {value}".replace("\n", " ") for key, value in (about or {}).items()]
        lines.append(",".join(_cell(name) for name in arrays))
        lines += [",".join(row) or '""' for row in zip(*texts, strict=True)]  # a line of nothing would be no row
        try:
            write_whole(path, ("\n".join(lines) + "\n").encode())
        except UnicodeEncodeError as error:
            raise ValueError(f"{path}: a column has a text that no file can hold: {error.reason}") from None
    else:
        raise ValueError(f"{path}: call it .csv, .h5 or .hdf5")


def _put(what: str, put: Callable[..., Any], *args: Any, **more: Any) -> None:
    """Put something into an HDF5 file, or say what the library does not take."""
    try:
        put(*args, **more)
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise ValueError(f"{what} cannot be in an HDF5 file: {str(error)[:200]}") from None


@checked_first
def load_table(path: PathLike) -> dict[str, Array]:
    """The columns of numbers of such a file, by name; those of texts are left out."""
    path = Path(path)
    if path.suffix.lower() in (".h5", ".hdf5"):
        return load_hdf5(path)
    return _load_csv(path)


def _texts(values: npt.NDArray[Any]) -> list[str]:
    if values.dtype.kind == "f":
        return ["" if math.isnan(x) else repr(x) for x in values.tolist()]
    return [_cell(str(x)) for x in values.tolist()]


def _cell(text: str) -> str:
    plain = text and text[0] not in "#\ufeff" and not any(c in text for c in ',"\n\r')
    return text if plain else '"' + text.replace('"', '""') + '"'


def _records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a table and their numbers, without empty ones and comments; quoted cells may have line ends."""
    quotes = 0

    def lines() -> Iterator[str]:
        nonlocal quotes
        for line in io.StringIO(text, newline=""):
            skipped = quotes % 2 == 0 and (not line.strip("\r\n") or line.startswith("#"))
            quotes += 0 if skipped else line.count('"')
            yield "\n" if skipped else line

    reader = csv.reader(lines())
    try:
        yield from ((reader.line_num, cells) for cells in reader if cells)
    except csv.Error as error:
        raise FileError(f"{path}, line {reader.line_num}: {error}") from None


def _load_csv(path: Path) -> dict[str, Array]:
    records = _records(path, read_bytes(path, LARGEST_TABLE_BYTES).decode("utf-8-sig", "replace"))
    first, names = next(records, (0, []))
    if not names:
        raise FileError(f"{path}: this table is empty")
    if len(set(names)) < len(names) or len(names) > MOST_COLUMNS:
        raise FileError(f"{path}, line {first}: columns must have different names")
    rows: list[list[float]] = []
    for number, cells in records:
        if len(cells) != len(names):
            raise FileError(f"{path}, line {number}: {len(cells)} cells, and {len(names)} columns")
        rows.append([_number(cell) for cell in cells])
    values = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    numbers = {name: values[:, k] for k, name in enumerate(names)}
    return {name: column for name, column in numbers.items() if not np.isinf(column).any()}


def _number(cell: str) -> float:
    """A number; NaN for nothing, and infinity, which is in no table, for a text."""
    if not cell:
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.nan


def names_of(model: Model, what: str) -> list[str]:
    """The names of the entries of q or v: "q left knee", or "q pelvis.3" of a joint with several."""
    found = []
    for i, joint in enumerate(model.joint_names):
        here = model.q_slice(i) if what == "q" else model.v_slice(i)
        count = here.stop - here.start
        found += [f"{what} {joint}"] if count == 1 else [f"{what} {joint}.{k}" for k in range(count)]
    return found


@checked_first
def save_trajectory(model: Model, trajectory: Trajectory, path: PathLike) -> None:
    """Write what `rollout` returns, as a table: time, then a column for each entry of q and v, by the joint's name."""
    columns: dict[str, npt.ArrayLike] = {"time": trajectory.t}
    for what, values, size in (("q", trajectory.q, model.nq), ("v", trajectory.v, model.nv)):
        if np.shape(values)[1:] != (size,):
            raise ValueError(f"model {model.name!r}: {what} of the trajectory has shape {np.shape(values)}, for {size}")
    for what, values in (("q", trajectory.q), ("v", trajectory.v)):
        columns.update(zip(names_of(model, what), np.asarray(values).T, strict=True))
    save_table(path, columns, {"model": model.name, "nq": model.nq, "nv": model.nv})


@checked_first
def load_trajectory(model: Model, path: PathLike) -> Trajectory:
    """The trajectory of a table; its columns must be those of the model."""
    table = load_table(path)
    return Trajectory(
        _columns(table, ["time"], path)[:, 0],
        _columns(table, names_of(model, "q"), path),
        _columns(table, names_of(model, "v"), path),
    )


def _columns(table: Mapping[str, Array], names: Sequence[str], path: PathLike) -> Array:
    for name in names:
        if name not in table:
            raise FileError(f"{path}: there is no column {quoted(name)} of numbers")
        if not np.isfinite(table[name]).all():
            raise FileError(f"{path}: column {quoted(name)} has a number that is missing or not finite")
    rows = len(table[names[0]]) if names else 0
    return np.stack([table[name] for name in names], axis=1) if names else np.zeros((rows, 0))
