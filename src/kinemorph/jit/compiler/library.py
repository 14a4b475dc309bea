"""The code of kernels, as Numba keeps it: parts of others until a unit of machine code is made of them."""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import llvmlite.ir

from kinemorph.jit.compiler.numba_names import ADDRESSES, found, no_cache

_Library: Any = object if no_cache else found("core.codegen.JITCodeLibrary")


class KernelLibrary(_Library):  # type: ignore[misc]
    """The code of one function for some types: part of its callers' machine code, or a unit of its own.

    Numba optimises each function together with all that it calls, makes machine code of that, and links the result
    into every caller, to be optimised again: a function ten calls deep is compiled ten times. Here a part stays as it
    was lowered until a unit is made, which takes in its parts, and theirs, each once. The units that it calls stay
    outside (`jit.compiler.calls`).
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.kernel: Any = None  # the kernel that this is the code of, and the types; None if it is not that of one
        self.calls: dict[str, Any] = {}  # by their keys, the kernels that are called, and the types
        self.python_calls_it = True
        self.may_fail = True  # whether a caller has to look at what it returns as a status
        self._part: Any = None

    def add_ir_module(self, ir_module: Any) -> None:
        blocks = [block for function in ir_module.functions for block in function.blocks]
        self.may_fail = not all(map(_goes_on_or_is_done, blocks))
        super().add_ir_module(ir_module)

    def take_in(self, libraries: list[Any]) -> None:
        self._linking_libraries.extend(libraries)

    def add_linking_library(self, library: Any) -> None:
        if not isinstance(library, KernelLibrary):
            library._ensure_finalized()
        self.take_in([library])

    def _taken_in(self, whole: bool) -> list[Any]:
        """The libraries behind this one; unless the whole is asked for, not those behind other kernels."""
        found, pending = dict.fromkeys([self]), [self]
        for library in pending:  # grows on the way
            new = list(dict.fromkeys(other for other in library._linking_libraries if other not in found))
            found.update(dict.fromkeys(new))
            pending += [other for other in new if isinstance(other, KernelLibrary) and (whole or not other.kernel)]
        return list(found)[1:]

    def needs(self) -> tuple[list[Any], dict[str, Any]]:
        """The kernels without which this is not whole: those that it takes in, if not done yet, and those called."""
        behind = [other for other in self._taken_in(self._finalized) if isinstance(other, KernelLibrary)]
        parts = [] if self._finalized else [other.kernel for other in behind if other.kernel]
        calls = dict(self.calls)
        for other in behind:
            if self._finalized or not other.kernel:
                calls.update(other.calls)
        return parts, calls

    def lacks_parts(self) -> bool:
        """Whether it was lowered with parts that its kernels no longer have: names tell what they were made of."""
        modules = [self._final_module, *(_part(other) for other in self._taken_in(whole=False))]
        functions = [function for module in modules for function in module.functions]
        defined = {function.name for function in functions if not function.is_declaration}
        here = [function for function in modules[0].functions if function.is_declaration]
        return any(function.name[:3] == "_ZN" and function.name not in defined for function in here)

    def holds_addresses(self) -> bool:
        names = [item.name for item in self._final_module.global_variables]
        return any(name.startswith(ADDRESSES) and not name.startswith(SLOT) for name in names)

    def part(self) -> Any:
        """This code alone, as it is taken into other code."""
        if self._part is None:
            self._part = _to_be_taken_in(self._final_module)
        return self._part

    def _optimize_functions(self, module: Any) -> None:
        """Leave out what is never read, such as addresses of Python's functions; the rest waits for a unit."""
        module.data_layout = self._codegen._data_layout
        passes, builder = llvmlite.binding.create_new_function_pass_manager(), self._codegen._pass_builder()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_dead_code_elimination_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self.part()  # before other code joins it
        for library in self._taken_in(whole=True):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_part(library), preserve=True)
        for function in self._final_module.functions:
            if function.linkage == _TAKEN_IN:
                function.linkage = "internal"  # gone when all its calls are inlined
        for item in self._final_module.global_variables:
            if item.name.startswith(SLOT):
                item.linkage = "internal"
        if lost := [one.name for one in self._final_module.functions if one.is_declaration and one.name[:3] == "_ZN"]:
            raise AssertionError(f"{self.name}: the code of {lost[0]} is nowhere")  # LLVM would end the process
        self._optimize_final_module()  # and LLVM looks at it again when it makes machine code
        self._finalize_final_module()

    def _optimize_final_module(self) -> None:
        """Once: Numba's first round is there to find references to count, and there are none."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def serialize_using_object_code(self) -> Any:
        if self._finalized:
            items = [*self._final_module.functions, *self._final_module.global_variables]
            defined = sorted(item.name for item in items if not item.is_declaration)
            asked_for = sorted(item.name for item in items if item.is_declaration and not item.name.startswith("llvm."))
            kind = "callable" if self.python_calls_it else "unit"
            return self.name, kind, (self._get_compiled_object(), defined, asked_for)
        others = [other for other in self._taken_in(whole=False) if not getattr(other, "kernel", None)]
        modules = [self._final_module.as_bitcode(), *(_part(other).as_bitcode() for other in others)]
        return self.name, "part", (self.may_fail, modules)

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        library = codegen.create_library(name)
        if kind == "part":
            library.may_fail, modules = data
            library._final_module, *others = map(llvmlite.binding.parse_bitcode, modules)
            for module in others:
                library.take_in([other := codegen.create_library(name)])
                other._final_module = module
        else:
            machine_code, defined, _ = data
            library.enable_object_caching()
            library._set_compiled_object(machine_code)
            library._finalize_final_module()
            codegen._engine._defined_symbols.update(defined)
        return library


SLOT = f"{ADDRESSES}.kinemorph."  # how the address of a unit is called where it is kept; others must not keep such code
_TAKEN_IN = llvmlite.binding.Linkage.weak_odr  # LLVM drops linkonce_odr if nothing calls it so far


def _goes_on_or_is_done(block: Any) -> bool:
    """Whether a block does not return, or returns that all is well."""
    end = block.terminator
    if not isinstance(end, llvmlite.ir.instructions.Ret):
        return True
    return isinstance(end.return_value, llvmlite.ir.Constant) and end.return_value.constant == 0


def _to_be_taken_in(module: Any) -> Any:
    module = module.clone()
    for function in module.functions:
        if not function.is_declaration and function.linkage != llvmlite.binding.Linkage.internal:
            function.linkage = _TAKEN_IN
    return module


def _part(library: Any) -> Any:
    return library.part() if isinstance(library, KernelLibrary) else _to_be_taken_in(library._get_module_for_linking())
