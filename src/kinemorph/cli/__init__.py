"""The command `kinemorph`: see, convert, analyse and check, in one line each. --version says which one it is.

Exit codes: 0 all is well, 1 a check has failed, 2 an argument or a file is wrong, 3 an extra is not installed, 130
interrupted.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from kinemorph.cli.creature import creature, creature_random, creature_show, creature_trial
from kinemorph.cli.evolution_commands import evolve, replay, report, rescore, results
from kinemorph.cli.machine import convert, doctor, warm
from kinemorph.cli.show_commands import bounce, demo, mocap, run, thesis, view
from kinemorph.cli.working_folder import refuse_settings

COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__: command
    for command in (
        bounce, convert, creature, demo, doctor, evolve, mocap, replay,
        report, rescore, results, run, thesis, view, warm,
    )
}  # fmt: skip
CREATURES: dict[str, Callable[..., Any]] = {  # what follows `kinemorph creature`
    "random": creature_random,
    "show": creature_show,
    "trial": creature_trial,
}


def main() -> None:
    from kinemorph import __version__
    from kinemorph._command_line import parse_command
    from kinemorph._escaping import plain
    from kinemorph._extras import MissingExtraError

    warnings.formatwarning = lambda message, *_, **__: f"kinemorph: {plain(message)}\n"  # it may name what a file names
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        print(f"kinemorph {__version__}")
        return
    try:
        refuse_settings()
        if words[:1] == ["creature"]:
            parse_command(CREATURES, words[1:], "kinemorph creature", creature.__doc__)()
        else:
            parse_command(COMMANDS, words, "kinemorph", __doc__)()
    except MissingExtraError as error:
        print(f"kinemorph: {plain(error)}", file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        print("kinemorph: interrupted", file=sys.stderr)
        sys.exit(130)
    except (ValueError, KeyError, OSError, ImportError, RuntimeError, ArithmeticError) as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            message = f"{error.filename}: {error.strerror.lower()}"
        print(f"kinemorph: {plain(message)}", file=sys.stderr)
        sys.exit(2)
