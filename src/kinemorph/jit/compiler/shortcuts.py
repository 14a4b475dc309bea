"""What Numba asks again and again while it compiles: the same answers, in less time.

Each function here stands for one of Numba; `jit.compiler.pipeline` says for which. `numbas` is the one that it stands
for.
"""

from __future__ import annotations

import opcode
from typing import Any

from kinemorph.jit.compiler.numba_names import found

_ir: Any = found("core.ir")


# --- variables ---


def list_vars(inst: Any) -> list[Any]:
    """The variables of an instruction, as Numba's method says it."""
    return variables(inst._kws if type(inst) is _ir.Expr else vars(inst))


def variables(value: Any) -> list[Any]:
    """The variables in an instruction, or in a part of one."""
    kind = type(value)
    if kind in _LEAVES:
        return []
    if kind is _ir.Var:
        return [value]
    if kind is list or kind is tuple:
        return [variable for item in value for variable in variables(item)]
    if kind is dict:
        return [variable for item in value.values() for variable in variables(item)]
    if kind is _ir.Expr:
        return variables(value._kws)
    if isinstance(value, _ir.Inst):
        return variables(vars(value))
    return []


_LEAVES = {type(None), int, float, bool, str}
if _ir:
    _LEAVES |= {_ir.Loc, _ir.Const, _ir.Global, _ir.FreeVar, _ir.Arg}


# --- after passes ---

_postprocess: Any = found("core.postproc.PostProcessor.run")


def postprocess(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What Numba does after most passes: of a kernel only loops are of interest, and only if the flow has changed."""
    function = processor.func_ir
    if emit_dels or not hasattr(function, "of_a_kernel"):
        _postprocess(processor, emit_dels, extend_lifetimes)
    elif function.of_a_kernel != _flow(function.blocks):
        function.blocks = found("core.transforms.canonicalize_cfg")(function.blocks)
        function.generator_info, function.of_a_kernel = None, _flow(function.blocks)


def _flow(blocks: Any) -> dict[Any, Any]:
    return {label: block.terminator.get_targets() for label, block in blocks.items()}


def post_process(interpreter: Any, peepholes: Any, func_ir: Any) -> Any:
    """What Numba puts right after it has read the bytecode, as far as there is something."""
    code = func_ir.func_id.code
    idle = set() if code.co_exceptiontable else {"peep_hole_delete_with_exit"}
    if not _DICTIONARIES.intersection(code.co_code[::2]):
        idle.add("peep_hole_fuse_dict_add_updates")
    for peephole in peepholes:
        func_ir = func_ir if peephole.__name__ in idle else peephole(func_ir)
    return func_ir


_DICTIONARIES = {number for name, number in opcode.opmap.items() if "MAP" in name or "DICT" in name}


# --- what is asked again and again ---


def find(selector: Any, signature: Any) -> Any:
    """What Numba has for some types; that there is nothing is known from the first time on, too."""
    if (known := selector._cache.get(signature)) is not None:
        return known
    absent = vars(selector).setdefault("_absent", {})
    if absent.get(signature) == len(selector.versions):
        raise _Absent("there is nothing for these types")
    try:
        selector._cache[signature] = selector._find(signature)
    except _Absent:
        absent[signature] = len(selector.versions)
        raise
    return selector._cache[signature]


_Absent: Any = found("core.errors.NumbaNotImplementedError") or NotImplementedError
_literals: dict[Any, Any] = {}


def literal_or_omitted(numbas: Any, value: Any) -> Any:
    """The type of a constant, or of none."""
    if type(value) not in _CONSTANTS:
        return numbas(value)
    key = type(value), value
    if key not in _literals:
        _literals[key] = numbas(value)
    return _literals[key]


_CONSTANTS = {int, str} | ({type(_ir.UNDEFINED)} if _ir else set())


_sizes: dict[str, int] = {}


def abi_size(numbas: Any, kind: Any, target_data: Any, context: Any = None) -> int:
    """The bytes of a type: Numba has LLVM read a program to know."""
    text = str(kind)
    if text not in _sizes or context is not None:
        _sizes[text] = numbas(kind, target_data, context)
    return _sizes[text]


def has_loc(numbas: Any, function: Any) -> bool:
    """Whether an implementation wants to know the line that it is for."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return bool(numbas(function))
    return "loc" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def told(numbas: Any, kind: Any, *data: Any, **more: Any) -> None:
    """Numba tells of every call of LLVM, whether anybody listens or not."""
    if any(_listeners.values()):
        numbas(kind, *data, **more)


_listeners: Any = found("core.event._registered")


_get_arg_packer: Any = found("core.base.BaseContext.get_arg_packer")
_packers: dict[Any, Any] = {}


def get_arg_packer(context: Any, fe_args: Any) -> Any:
    """How arguments are handed over, which is asked three times for every call."""
    key = tuple(fe_args)
    if key not in _packers:
        _packers[key] = _get_arg_packer(context, fe_args)
    return _packers[key]


_declare_function: Any = found("core.base.BaseContext.declare_function")


def declare_function(context: Any, module: Any, fndesc: Any) -> Any:
    known = module.globals.get(fndesc.mangled_name)
    return _declare_function(context, module, fndesc) if known is None else known


# --- what Numba is told by others ---

_refresh_typing: Any = found("core.typing.context.BaseContext.refresh")
_refresh: Any = found("core.base.BaseContext.refresh")


def refresh_typing(context: Any) -> None:
    """Take up what was registered since the last time; Numba asks for it before everything that it compiles."""
    _refresh_if_told(context, _refresh_typing)


def refresh(context: Any) -> None:
    _refresh_if_told(context, _refresh)
    context.typing_context.refresh()


def _refresh_if_told(context: Any, numbas: Any) -> None:
    told = _told(context)
    if not told or vars(context).get("_told") != told:
        numbas(context)
        context._told = _told(context)


def _told(context: Any) -> list[int]:
    """How much is registered in all that a context knows of; nothing if that cannot be seen."""
    registries = getattr(context, "_registries", {}).items()
    return [len(getattr(one, name)) for one, loader in registries for name in getattr(loader, "registry_items", ())]
