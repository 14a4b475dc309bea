"""What the decorators make of a function: all that is known of it before it is compiled."""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

from kinemorph.jit.lazy_import import machinery


class Kernel(functools.partial[Any]):
    """A function that becomes machine code when it is first called, by Python or by another kernel.

    It is a call of something else without further arguments, the cheapest that Python has: at first of `_first_call`,
    then of Numba's dispatcher.
    """

    py_func: Any
    source_file: str
    is_entry: bool
    options: dict[str, bool]

    def __new__(cls, function: Any, is_entry: bool, options: dict[str, bool]) -> Kernel:
        made = super().__new__(cls, function)
        file = function.__code__.co_filename
        attributes = vars(made)
        attributes.update(
            __module__=function.__module__,
            __name__=function.__name__,
            __qualname__=function.__qualname__,
            __doc__=function.__doc__,
            __wrapped__=function,
            py_func=function,
            is_entry=is_entry,
            options=options,
            source_file=file if os.path.isabs(file) else os.path.abspath(file),  # now: a script may change folders
            _first=made._first_call,  # kept: it runs while it is replaced
        )
        made.__setstate__((made._first, (), {}, attributes))
        return made

    def _first_call(self, *arguments: Any, **named: Any) -> Any:
        try:
            result = self.dispatcher(*arguments, **named)
        except Exception as error:
            if isinstance(error, machinery().NumbaError):  # of types: later calls raise a TypeError, which callers know
                raise TypeError(str(error)) from error
            raise
        self.__setstate__((self.dispatcher, (), {}, vars(self)))
        return result

    @property
    def dispatcher(self) -> Any:
        """What Numba makes of the function."""
        return vars(self).get("_dispatcher") or vars(self).setdefault("_dispatcher", machinery().dispatcher_of(self))

    @property
    def targetoptions(self) -> dict[str, Any]:
        """How it is compiled, as Numba calls it."""
        return machinery().options_of(self)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.py_func)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of Python, which asks for many
            raise AttributeError(name)
        if name == "dispatcher":  # it could not be made for want of an attribute: say of which
            return type(self).dispatcher.__get__(self)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> Any:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"
