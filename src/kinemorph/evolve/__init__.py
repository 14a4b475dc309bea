"""Evolution: searches that ask, evaluators that answer, a store that keeps both. As `km.evolve`."""

from kinemorph.evolve.creature_problem import Species, creatures
from kinemorph.evolve.evaluators.evaluator import Evaluator, Serial
from kinemorph.evolve.evaluators.job import Individual, Job, Result
from kinemorph.evolve.evaluators.processes import Processes
from kinemorph.evolve.experiment import begin, evolve, resume
from kinemorph.evolve.problem import Descriptor, Draw, Outcome, Problem
from kinemorph.evolve.rescore import Rescored, rescore
from kinemorph.evolve.run import Monitor, Progress, held_out
from kinemorph.evolve.searches.default_search import Recipe, RecipeSettings
from kinemorph.evolve.searches.search import Budget, Planned, Search, best_first
from kinemorph.evolve.settings import Settings, load_settings
from kinemorph.evolve.store.run_store import Store, StoreError

__all__ = [
    "Budget", "Descriptor", "Draw", "Evaluator", "Individual", "Job", "Monitor", "Outcome", "Planned", "Problem",
    "Processes", "Progress", "Recipe", "RecipeSettings", "Rescored", "Result", "Search", "Serial", "Settings",
    "Species", "Store", "StoreError", "begin", "best_first", "creatures", "evolve", "held_out", "load_settings",
    "rescore", "resume",
]  # fmt: skip
