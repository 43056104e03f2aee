"""The same as numba's own passes do, in a shorter way: what they call for every expression of a function.

`replaced` lists what `compiling` puts in the place of numba's private names while an entry is compiled, and takes away
afterwards. Each does what the original does to code as flexctl's; what is only for generators, for logs that nobody
reads, or for listeners that nobody has installed is left out, or left to the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FLOATING = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"))


def replaced() -> Iterator[tuple[Any, str, Any]]:
    """Yield owners, names and replacements.

    Raises
    ------
    ImportError, AttributeError
        If this numba has other names.
    """
    from numba.core import errors, fastmathpass, ir, lowering, postproc, ssa, typeinfer

    modules: list[Any] = [errors, lowering, typeinfer]

    variables = _variables(ir)
    yield ir.Inst, "_rec_list_vars", lambda instruction, value: variables(value)
    yield ir.Stmt, "list_vars", lambda statement: variables(statement.__dict__)
    yield ir.Expr, "list_vars", lambda expression: variables(expression._kws)
    yield ssa, "_run_ssa_block_pass", _unlogged(ir.Assign)
    yield fastmathpass, "rewrite_module", _fused
    yield postproc.PostProcessor, "run", _lazily(postproc)
    context = _context(errors)
    for module in modules:
        if module.new_error_context is not modules[0].new_error_context:
            raise AttributeError("new_error_context")
        yield module, "new_error_context", context


def _variables(ir: Any) -> Any:
    """Return the function that lists the variables of whatever an instruction holds, in its order."""
    var, instruction = ir.Var, ir.Inst

    def variables(value: Any) -> list[Any]:
        kind = type(value)
        if kind is dict:
            values = value.values()
        elif kind is tuple or kind is list:
            values = value
        elif isinstance(value, var):
            return [value]
        elif isinstance(value, instruction):
            found: list[Any] = value.list_vars()
            return found
        else:
            return []
        several: list[Any] = []
        for part in values:
            kind = type(part)
            if kind is var:
                several.append(part)
            elif kind is not str and kind is not ir.Loc and kind is not int:
                several += variables(part)
        return several

    return variables


def _unlogged(assign: type) -> Any:
    """Return what rewrites the statements of a block, or looks at them, without a line of log for each."""

    def rewritten(states: Any, block: Any, handler: Any) -> Iterator[Any]:
        on_assign, on_other = handler.on_assign, handler.on_other
        for statement in block.body:
            yield (on_assign if isinstance(statement, assign) else on_other)(states, statement)

    return rewritten


def _fused(module: Any, options: Any) -> None:
    """Set the flags of fast arithmetic, in one pass over the instructions of a module."""
    from llvmlite import ir  # type: ignore[import-untyped]

    flags, real = list(options.flags), (ir.FloatType, ir.DoubleType)
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.opname in FLOATING:
                    if not instruction.flags:
                        instruction.flags.extend(flags)
                elif isinstance(instruction, ir.CallInstr) and isinstance(instruction.type, real):
                    for flag in flags:
                        instruction.fastmath.add(flag)


def _lazily(postproc: Any) -> Any:
    """Return what is done after every pass: what lives where is found when it is asked for."""
    whole = postproc.PostProcessor.run

    def run(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = processor.func_ir
        if code.is_generator:
            whole(processor, emit_dels, extend_lifetimes)
            return
        code.blocks = postproc.transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime = postproc.VariableLifetime(code.blocks)
        code.generator_info = None
        if emit_dels:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    return run


def _context(errors: Any) -> Any:
    """Return the class of contexts that say where an error comes from."""

    class Context:
        def __init__(self, text: str, *arguments: Any, **named: Any) -> None:
            self.said = text, arguments, named

        def __enter__(self) -> None:
            where = self.said[2].get("loc")
            if where is not None and not where.filename.startswith(errors._numba_path):
                errors.loc_info.update(self.said[2])

        def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
            if isinstance(error, errors.NumbaError):
                error.add_context(errors._format_msg(*self.said))

    return Context
