"""From Numba's intermediate code of a kernel to LLVM's, with less that LLVM has to read and remove.

Each function here stands for one of Numba while kernels are compiled (`jit.compiler.pipeline` says for which), and the
code that comes out computes the same. Numba keeps each variable that two blocks use in memory, and copies an array to
memory to read one of its fields: it is made for arrays that own memory, for exceptions and for debuggers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import llvmlite.ir
from numba import types
from numba.core import cgutils

from kinemorph.jit.compiler.numba_names import found

_ir: Any = found("core.ir")


_find_values: Any = found("core.lowering.Lower._find_singly_assigned_variable")


def find_values(lower: Any) -> None:
    """Which variables of a function are values, and not places in memory: of a kernel all that are settled.

    Numba takes those alone that are used in one block.
    """
    if not hasattr(lower.func_ir, "of_a_kernel"):
        _find_values(lower)
        return
    lower._singly_assigned_vars, lower._blk_local_varmap = _settled(lower.blocks), {}
    lower.module.of_a_kernel = True


def _settled(blocks: Any) -> set[str]:
    """The variables that are assigned once, and before they are used: values, which need no place in memory."""
    definitions: dict[str, Any] = {}
    users: defaultdict[str, set[Any]] = defaultdict(set)
    again = set()
    for label, block in blocks.items():
        for inst in block.body:
            target = inst.target.name if isinstance(inst, _ir.Assign) else None
            for name in _names_read(inst.value if target else inst):
                if name not in definitions:
                    again.add(name)  # used in a block that is lowered before
                elif definitions[name] != label:
                    users[name].add(label)
            if target:
                if target in definitions:
                    again.add(target)
                definitions[target] = label
    candidates = definitions.keys() - again
    if users:
        above = found("core.analysis.compute_cfg_from_blocks")(blocks).dominators()
        candidates -= {
            name for name, labels in users.items() if any(definitions[name] not in above[label] for label in labels)
        }
    return candidates


def _names_read(value: Any) -> list[str]:
    """The variables in an instruction, or in what it assigns."""
    if isinstance(value, _ir.Var):
        return [value.name]
    return [variable.name for variable in value.list_vars()] if hasattr(value, "list_vars") else []


# --- what Numba and llvmlite do again and again ---

_postprocess: Any = found("core.postproc.PostProcessor.run")


def postprocess(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What Numba does after most passes: of a kernel only loops matter, and only if the flow has changed."""
    function = processor.func_ir
    if emit_dels or not hasattr(function, "known_flow"):
        _postprocess(processor, emit_dels, extend_lifetimes)
    elif function.known_flow != flow(function):
        _postprocess(processor)
        function.known_flow = flow(function)


def flow(function: Any) -> dict[Any, Any]:
    """Which blocks follow each one."""
    return {label: block.terminator.get_targets() for label, block in function.blocks.items()}


def has_loc(numbas: Any, function: Any) -> bool:
    """Whether an implementation wants to know the line that it is for."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return bool(numbas(function))
    return "loc" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def told(numbas: Any, kind: Any, *data: Any, **more: Any) -> None:
    """An event of Numba, one for every call of LLVM: listeners get none while kernels are compiled."""


def write_body(function: Any, lines: list[str]) -> None:
    """The text of a function, as llvmlite writes it."""
    for block in function.blocks:
        lines.append(f"{block.get_reference()[1:]}:\n")
        for inst in block.instructions:
            text = ["  "] if isinstance(inst.type, llvmlite.ir.VoidType) else ["  ", inst.get_reference(), " = "]
            inst.descr(text)
            lines.append("".join(text).rstrip() + "\n")


# --- calls ---

_call_function: Any = found("core.callconv.CPUCallConv.call_function")
_return_status_propagate: Any = found("core.callconv.CPUCallConv.return_status_propagate")


class _Status(NamedTuple):
    """What came of a call, as far as kernels ask."""

    code: Any
    is_error: Any


def call_function(
    convention: Any, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None
) -> Any:
    """A call by a kernel.

    The callee writes its result into a place that is not filled with zeros first, and an error where the
    caller would have copied it to.
    """
    if attrs or isinstance(resty, types.Optional) or not hasattr(builder.module, "of_a_kernel"):
        return _call_function(convention, builder, callee, resty, argtys, args, attrs)
    with builder.goto_entry_block():
        result = builder.alloca(convention.get_return_type(resty).pointee)
    arguments = convention._get_arg_packer(argtys).as_arguments(builder, args)
    code = builder.call(callee, [result, convention._get_excinfo_argument(builder.function), *arguments])
    status = _Status(code, builder.icmp_signed("!=", code, code.type(0)))
    return status, convention.context.get_returned_value(builder, resty, builder.load(result))


def return_status_propagate(convention: Any, builder: Any, status: Any) -> None:
    if isinstance(status, _Status):
        builder.ret(status.code)
    else:
        _return_status_propagate(convention, builder, status)


# --- arrays ---


class Array:
    """The fields of an array, taken from its value and put into it; Numba's structure in memory, if asked for."""

    def __init__(self, numbas: Any, kind: Any, context: Any, builder: Any, value: Any) -> None:
        self._fe_type, self._context, self._builder = kind, context, builder  # Numba's names
        self._datamodel = context.data_model_manager[kind]
        self._value = self._datamodel.get_value_type()(None) if value is None else value
        self._numbas, self._in_memory = numbas, None

    def __getattr__(self, field: str) -> Any:
        if field.startswith("__"):
            raise AttributeError(field)
        if field.startswith("_"):  # where it is
            if self._in_memory is None:
                self._in_memory = self._numbas(self._fe_type)(self._context, self._builder, self._value)
            return getattr(self._in_memory, field)
        if self._in_memory is not None:
            return getattr(self._in_memory, field)
        return self._builder.extract_value(self._value, self._datamodel.get_field_position(field))

    def __setattr__(self, field: str, value: Any) -> None:
        if field.startswith("_"):
            object.__setattr__(self, field, value)
        elif self._in_memory is not None:
            setattr(self._in_memory, field, value)
        else:
            self._value = self._builder.insert_value(self._value, value, self._datamodel.get_field_position(field))

    def _getvalue(self) -> Any:
        return self._value if self._in_memory is None else self._in_memory._getvalue()


def make_array(numbas: Any, kind: Any) -> Any:
    """What gives an array its fields, for the value of one or for one to be made; in memory already, it stays there."""
    if not isinstance(kind, types.Array):
        return numbas(kind)

    def made(context: Any, builder: Any, value: Any = None, ref: Any = None) -> Any:
        if ref is not None:
            return numbas(kind)(context, builder, value, ref)
        return Array(numbas, kind.as_array, context, builder, value)

    return made


def element(
    numbas: Any, context: Any, builder: Any, kind: Any, array: Any, index_types: Any, indices: Any, **how: Any
) -> Any:
    """Where an element of an array of one dimension is, as Numba's `basic_indexing` says it; of others, Numba says."""
    if kind.ndim > 1 or kind.layout != "C" or len(indices) > 1 or not isinstance(index_types[0], types.Integer):
        return numbas(context, builder, kind, array, index_types, indices, **how)
    checked, from_the_end = how.get("boundscheck"), _counts_from_the_end(indices[0])
    size = builder.extract_value(array.shape, 0) if checked or from_the_end else None
    index = context.cast(builder, indices[0], index_types[0], types.intp if index_types[0].signed else types.uintp)
    if from_the_end:
        index = builder.add(index, size)
    if checked:
        cgutils.do_boundscheck(context, builder, index, size, 0)
    return builder.gep(array.data, [index]), [], []


def fix_integer_index(numbas: Any, context: Any, builder: Any, idxty: Any, idx: Any, size: Any) -> Any:
    """An index, which counts from the end only if it is a constant, `a[-1]`.

    Numba asks of every index whether it is negative: a tenth of the time of a step. With bounds checks on, a negative
    one is refused.
    """
    if idxty.signed and not _counts_from_the_end(idx):
        return context.cast(builder, idx, idxty, types.intp)
    return numbas(context, builder, idxty, idx, size)


def _counts_from_the_end(index: Any) -> bool:
    constant = getattr(index, "constant", None) if isinstance(index, llvmlite.ir.Constant) else None
    return isinstance(constant, int) and constant < 0
