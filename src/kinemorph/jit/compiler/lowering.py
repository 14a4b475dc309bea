"""From Numba's intermediate code of a kernel to LLVM's, in fewer steps: what comes out computes the same.

Numba's way is made for arrays that own memory, for exceptions and for debuggers. It keeps each variable that two blocks
use in memory, copies an array there to read one of its fields, and forgets variables one by one. LLVM removes all that
again; to write it down, read it and remove it was a third of the time of compilation.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import llvmlite.ir
from numba import types

from kinemorph.jit.compiler.numba_names import found, no_cache, of_llvmlite, part_of_callers
from kinemorph.jit.compiler.shortcuts import variables

_Lower: Any = object if no_cache else found("core.lowering.Lower")
_LoweringPass: Any = object if no_cache else found("core.typed_passes.BaseNativeLowering")
_Error: Any = found("core.errors.NumbaError") or Exception
_ir: Any = found("core.ir")


class KernelLower(_Lower):  # type: ignore[misc]
    """Numba's translator, for functions without references to count, `try`, generators and debug information."""

    def _find_singly_assigned_variable(self) -> None:  # Numba's name, as all of these
        self._singly_assigned_vars = _settled(self.blocks)
        self._blk_local_varmap: dict[str, Any] = {}

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.builder.of_a_kernel = True

    def lower_block(self, block: Any) -> None:
        for inst in block.body:
            self.loc = inst.loc
            try:
                self.lower_inst(inst)
            except _Error as error:
                error.add_context(f'lowering "{inst}" at {self.loc}')
                raise

    def lower_inst(self, inst: Any) -> None:
        if isinstance(inst, _ir.Assign) and not isinstance(inst.value, _ir.Arg):
            name = inst.target.name
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
        elif not isinstance(inst, _ir.Del):
            super().lower_inst(inst)

    def lower_call(self, resty: Any, expr: Any) -> Any:
        signature, kind = self.fndesc.calltypes[expr], self.typeof(expr.func.name)
        if type(kind) not in (types.Dispatcher, types.Function) or expr.vararg or expr.kws or expr.target:
            return super().lower_call(resty, expr)
        if isinstance(signature.return_type, types.Phantom) or signature.recvr:
            return super().lower_call(resty, expr)
        arguments = self.fold_call_args(kind, signature, expr.args, None, ())
        result = self.context.get_function(kind, signature)(self.builder, arguments, self.loc)
        if result is None:
            result = self.context.get_dummy_value()
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def fold_call_args(self, fnty: Any, signature: Any, pos_args: Any, vararg: Any, kw_args: Any) -> Any:
        several = any(isinstance(kind, types.StarArgTuple | types.StarArgUniTuple) for kind in signature.args)
        if vararg or kw_args or several or len(pos_args) != len(signature.args):
            return super().fold_call_args(fnty, signature, pos_args, vararg, kw_args)
        return [self._cast_var(variable, kind) for variable, kind in zip(pos_args, signature.args, strict=True)]

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def loadvar(self, name: str) -> Any:
        value = self._blk_local_varmap.get(name)
        return self.builder.load(self.getvar(name)) if value is None else value

    def getvar(self, name: str) -> Any:
        """Where a variable is that is assigned more than once."""
        place = self.varmap.get(name)
        if place is None:
            with self.builder.goto_entry_block():
                place = self.builder.alloca(self.context.get_value_type(self.typeof(name)), name=name)
                self.builder.store(place.type.pointee(None), place)
            self.varmap[name] = place
        return place


class KernelLowering(_LoweringPass):  # type: ignore[misc]
    """Numba's pass, with that translator."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        return KernelLower


if not no_cache:
    found("core.compiler_machinery.register_pass")(mutates_CFG=True, analysis_only=False)(KernelLowering)


def _settled(blocks: Any) -> set[str]:
    """The variables that are assigned once, and before they are used: values, which need no place in memory."""
    definitions: dict[str, Any] = {}
    users: defaultdict[str, set[Any]] = defaultdict(set)
    again = set()
    for label, block in blocks.items():
        for inst in block.body:
            target = inst.target.name if isinstance(inst, _ir.Assign) else None
            for name in [variable.name for variable in variables(inst.value if target else inst)]:
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

    The callee writes its result into a place that nobody has filled with zeros, and what goes wrong it writes where the
    caller would have copied it to.
    """
    if attrs or isinstance(resty, types.Optional) or not hasattr(builder, "of_a_kernel"):
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


# --- functions of Numba that kernels call ---

_compile: Any = found("core.dispatcher._FunctionCompiler.compile")
_add_overload: Any = found("core.registry.CPUDispatcher.add_overload")


def flags_of_part(compiler: Any, flags: Any) -> Any:
    """What Python cannot call is a part of kernels: nobody calls machine code of its own."""
    if flags.no_cpython_wrapper:
        flags.no_compile = flags.no_cfunc_wrapper = True
    return flags


def compile_part(compiler: Any, args: Any, return_type: Any) -> Any:
    result = _compile(compiler, args, return_type)
    is_of_a_kernel = "_customize_flags" in vars(compiler)  # `only_lowered`
    return result if is_of_a_kernel or result.entry_point is not None else part_of_callers(result)


def add_part(dispatcher: Any, cres: Any) -> None:
    if type(cres.entry_point) is object:  # nothing for Python to call
        dispatcher.overloads[tuple(cres.signature.args)] = cres
    else:
        _add_overload(dispatcher, cres)


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
        found("core.cgutils.do_boundscheck")(context, builder, index, size, 0)
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


# --- text, which LLVM reads: as llvmlite writes it, in less time ---

_Named, _Block = of_llvmlite("ir.values.NamedValue"), of_llvmlite("ir.values.Block")
_set_name: Any = getattr(_Named, "_set_name", None)
_reference: Any = getattr(_Named, "_get_reference", None)
_KEPT = "_StringReferenceCaching__cached_refstr"  # where llvmlite keeps how a value is referred to


def set_name(value: Any, name: str) -> None:
    """Give a value a name, with a number if another has it, and say how it is referred to."""
    kind, scope = type(value), value.parent.scope
    if not kind.deduplicate_name or kind._get_reference is not _reference:
        _set_name(value, name)
        return
    used = scope._useset
    if name in used:
        count, first = scope._basenamemap[name] + 1, name
        while (name := f"{first}.{count}") in used:
            count += 1
        scope._basenamemap[first] = count
    used.add(name)
    value._name = name
    escaped = name.replace("\\", "\\5c").replace('"', "\\22") if "\\" in name or '"' in name else name
    setattr(value, _KEPT, f'{kind.name_prefix}"{escaped}"')


def text_of_value(value: Any) -> str:
    lines: list[str] = []
    value.descr(lines)
    text = "".join(lines).rstrip()
    return text if isinstance(value.type, llvmlite.ir.VoidType) else f"{value.get_reference()} = {text}"


def write_block(block: Any, lines: list[str]) -> None:
    lines.append(f"{block._format_name()}:\n")
    lines.extend([f"  {inst._to_string()}\n" for inst in block.instructions])


def call_llvm(function: Any, *args: Any) -> Any:
    """A call of LLVM, one at a time; Numba's listeners are not told."""
    with function._lock._lock:
        return function._cfn(*args)


def text_substitutes() -> list[tuple[Any, str, Any]]:
    """The owner, the name, and what stands for it: if llvmlite works as it did."""
    function = of_llvmlite("binding.ffi._lib_fn_wrapper")
    probes = [
        (_Named, "_set_name", set_name, "parent scope register deduplicate_name _name"),
        (_Named, "_get_reference", _reference, "name replace format name_prefix"),
        (_Named, "_get_name", getattr(_Named, "_get_name", None), "_name"),
        (_Named, "_to_string", text_of_value, "isinstance VoidType get_reference descr rstrip"),
        (_Block, "descr", write_block, "_format_name instructions"),
        (function, "__call__", call_llvm, "_lock _cfn"),
    ]
    for owner, name, _, mentions in probes:
        code = getattr(getattr(owner, name, None), "__code__", None)
        if code is None or not {*mentions.split()} <= {*code.co_names}:
            return []
    name_of = property(getattr(_Named, "_get_name", None), set_name)
    return [(_Named, "name", name_of), *((owner, name, substitute) for owner, name, substitute, _ in probes)]
