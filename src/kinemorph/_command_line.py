"""The words of a command: what they ask for, or one sentence on the command, the option and what was given for it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

Command = Callable[..., Any]
NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}
HELP = {"-h", "--help"}


def parse_command(commands: Mapping[str, Command], words: Sequence[str], program: str, about: str | None) -> Any:
    """The command as a function to call. Words that make no command raise ValueError."""
    import tyro

    def later(function: Command) -> Command:
        return functools.wraps(function)(lambda *places, **options: functools.partial(function, *places, **options))

    offered = {name: later(function) for name, function in commands.items()}
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # where it draws boxes of several lines
            return tyro.extras.subcommand_cli_from_dict(offered, prog=program, description=about, args=words)
    except SystemExit as end:
        if not end.code:
            raise  # help was asked for
    raise ValueError(command_error(commands, words, program))


def command_error(commands: Mapping[str, Command], words: Sequence[str], program: str) -> str:
    """Why words that a parser has refused are no command. Only what is wrong is told, not all that could be right."""
    if not words:
        return f"name a command: {', '.join(commands)}; {program} --help says what each does"
    name, *rest = words
    if name not in commands:
        return f"there is no command {name!r}; there are {', '.join(commands)}"
    return f"{name}: {_of_command(commands[name], rest)}; see {program} {name} --help"


def _of_command(command: Command, words: Sequence[str]) -> str:
    hints = typing.get_type_hints(command)
    own = inspect.signature(command).parameters
    places = [each for each in own.values() if each.kind is each.POSITIONAL_ONLY]
    options = {f"--{n.replace('_', '-')}": hints[n] for n, each in own.items() if each.kind is not each.POSITIONAL_ONLY}
    flags = {option for option, hint in options.items() if hint is bool}
    flags |= {f"--no-{flag[2:]}" for flag in flags} | HELP
    here = 0
    k = 0
    while k < len(words):
        word = words[k]
        k += 1
        if not _is_option(word):
            here += 1
            continue
        option, equals, given = word.partition("=")
        option = option.replace("_", "-")
        if option in flags:
            continue
        if option not in options:
            return f"there is no option {option}; there are {', '.join(options) or 'none'}"
        kind = options[option]
        several = _takes_all(kind)
        values = [given] if equals else []
        while not equals and k < len(words) and not _is_option(words[k]) and (several or not values):
            values.append(words[k])
            k += 1
        if not values and not several:
            return f"{option} needs {_wanted(kind)}"
        for value in values:
            if not _fits(kind, value):
                return f"{option} {value}: expected {_wanted(kind)}"
    needed = [each.name for each in places if each.default is each.empty and not _takes_all(hints[each.name])]
    if here < len(needed):
        return f"{needed[here].upper()} is missing"
    if here > len(places) and not any(_takes_all(hints[each.name]) for each in places):
        return f"{here} words are too many, {len(places)} may be given" if places else "it takes options only"
    return "its words cannot be understood"


def _is_option(word: str) -> bool:
    """Negative numbers are none."""
    return word.startswith("-") and not _fits(float, word)


def _takes_all(kind: Any) -> bool:
    return typing.get_origin(kind) is tuple


def _kinds(kind: Any) -> list[Any]:
    """The types that a value may have."""
    if _takes_all(kind):
        return _kinds(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, type(int | None)):
        return [one for each in typing.get_args(kind) for one in _kinds(each) if one is not type(None)]
    return [kind]


def _fits(kind: Any, value: str) -> bool:
    for one in _kinds(kind):
        try:
            if typing.get_origin(one) is Literal:
                if value in typing.get_args(one):
                    return True
            elif one is bool:
                if value in ("True", "False"):
                    return True
            else:
                one(value)
                return True
        except ValueError:
            continue
    return False


def _wanted(kind: Any) -> str:
    words = []
    for one in _kinds(kind):
        if typing.get_origin(one) is Literal:
            words += list(typing.get_args(one))
        elif one is bool:
            words += ["True", "False"]
        else:
            words.append(NUMBERS.get(one, "a file or folder" if one is not str else "a word"))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
