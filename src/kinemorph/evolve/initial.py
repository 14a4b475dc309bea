"""The genotypes that a search begins with, read from files (Fontijne 4.6.2: "or loads one from disk").

They are read once, when a run begins, and kept in its store: what becomes of the files later changes no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kinemorph._files import FileError, read_bytes, require_file
from kinemorph.creatures.genotype.genotype import LARGEST_GENOTYPE_BYTES, Genotype, load_genotype
from kinemorph.evolve.creature_problem import Species
from kinemorph.evolve.problem import Problem
from kinemorph.evolve.store.run_store import Store

MOST_INITIAL_GENOTYPES = 10_000  # genotypes of an initial population
RUN_FILE_HEAD = b"SQLite format 3"  # how the file of a run begins


def initial_genotypes(files: Sequence[str], problem: Problem) -> list[str]:
    """The genotypes of files, in their order: one of each, or of a run all that its last generation left, the
    best first."""
    found: list[str] = []
    for name in files:
        file = Path(name)
        require_file(file)
        found += _of_run(file, problem) if _is_run(file) else [_of_file(file, problem)]
        if len(found) > MOST_INITIAL_GENOTYPES:
            raise FileError(
                f"{file}: with it the initial population has {len(found)} genotypes, and may have"
                f" {MOST_INITIAL_GENOTYPES}"
            )
    return found


def _is_run(file: Path) -> bool:
    with file.open("rb") as data:
        return data.read(len(RUN_FILE_HEAD)) == RUN_FILE_HEAD


def _of_run(file: Path, problem: Problem) -> list[str]:
    with Store.open(file) as store:
        last = store.last
        genotypes = [store.genotype(last, one.rank) for one in store.standings() if one.generation == last]
    return [_checked_genotype(genotype, file, problem) for genotype in genotypes]


def _of_file(file: Path, problem: Problem) -> str:
    if isinstance(problem, Species):
        return load_genotype(file).line()
    try:
        return _checked_genotype(read_bytes(file, LARGEST_GENOTYPE_BYTES).decode().strip(), file, problem)
    except UnicodeDecodeError:
        raise FileError(f"{file}: this is no text, and genotypes are text") from None


def _checked_genotype(genotype: str, file: Path, problem: Problem) -> str:
    """A genotype that the problem can read: better to learn it now than from the first evaluation."""
    if isinstance(problem, Species):
        return Genotype.from_json(genotype, str(file)).line()
    try:
        problem.viable(genotype)
    except Exception as error:  # of code that is the user's own
        raise FileError(f"{file}: {problem.name} cannot read its genotype ({type(error).__name__}: {error})") from None
    return genotype
