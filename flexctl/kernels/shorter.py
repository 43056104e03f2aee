"""The same as numba's own passes do, in a shorter way: what they call for every expression of a function.

`replaced` lists what `compiling` puts in the place of numba's private names while an entry is compiled, and takes away
afterwards. Each does what the original does to code as flexctl's; what is only for generators, for logs that nobody
reads, or for listeners that nobody has installed is left out, or left to the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NAMES = "_flexctl_names"
"""Attribute of a block: the variables that it names."""
CLOSURES = frozenset(("make_function", "build_list"))
REDUCING = frozenset(("reduce", "stencil", "StencilFunc"))
"""Names of functions, and of types of values, that are put into a function in place of their call."""
ARRAY_MAKERS = frozenset(("unary", "binop", "inplace_binop", "call", "build_list"))
FLOATING = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"))


def replaced() -> Iterator[tuple[Any, str, Any]]:
    """Yield owners, names and replacements.

    Raises
    ------
    ImportError, AttributeError
        If this numba has other names.
    """
    from numba.core import (
        errors,
        fastmathpass,
        ir,
        ir_utils,
        lowering,
        postproc,
        ssa,
        typed_passes,
        typeinfer,
        untyped_passes,
    )

    modules: list[Any] = [errors, lowering, typeinfer]

    variables = _variables(ir)
    yield ir.Inst, "_rec_list_vars", lambda instruction, value: variables(value)
    yield ir.Stmt, "list_vars", lambda statement: variables(statement.__dict__)
    yield ir.Expr, "list_vars", lambda expression: variables(expression._kws)
    yield ssa, "_run_ssa_block_pass", _unlogged(ir.Assign)
    yield fastmathpass, "rewrite_module", _fused
    yield postproc.PostProcessor, "run", _lazily(postproc)
    yield ssa, "_run_block_rewrite", _where_named(ssa)
    closures = _without_closures(untyped_passes, postproc, ir_utils.legalize_single_scope)
    yield untyped_passes.InlineClosureLikes, "run_pass", closures
    yield typed_passes.NopythonRewrites, "run_pass", _without_array_expressions(typed_passes, postproc)
    yield typed_passes, "check_and_legalize_ir", _without_ends(typed_passes, postproc)
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


def _where_named(ssa: Any) -> Any:
    """Return what rewrites the blocks of a function for one variable: those that name it; the others stay."""
    block_of = ssa.ir.Block

    def rewritten(blocks: Any, states: Any, handler: Any) -> Any:
        name, made = states["varname"], {}
        for label, block in blocks.items():
            names = vars(block).get(NAMES)
            if names is None:
                names = {variable.name for statement in block.body for variable in statement.list_vars()}
                setattr(block, NAMES, names)
            if name not in names:
                made[label] = block
                continue
            made[label] = new = block_of(scope=block.scope, loc=block.loc)
            states["label"], states["block"] = label, block
            new.body = list(ssa._run_ssa_block_pass(states, block, handler))
            setattr(new, NAMES, names)  # new versions of a variable are not rewritten again
        return made

    return rewritten


def _without_closures(passes: Any, postproc: Any, one_scope: Any) -> Any:
    """Return the pass that puts closures, reductions and stencils into a function, which asks first for any."""
    ir, whole = passes.ir, passes.InlineClosureLikes.run_pass

    def run_pass(self: Any, state: Any) -> bool:
        code = state.func_ir
        for block in code.blocks.values():
            for statement in block.body:
                value = statement.value if isinstance(statement, ir.Assign) else None
                if isinstance(value, ir.Expr):
                    odd = value.op in CLOSURES or (value.op == "getattr" and value.attr in REDUCING)
                elif isinstance(value, ir.Global | ir.FreeVar):
                    odd = getattr(value.value, "__name__", "") in REDUCING or type(value.value).__name__ in REDUCING
                else:
                    continue
                if odd:
                    return bool(whole(self, state))
        postproc.PostProcessor(code).run()
        if one_scope(code.blocks):
            block = next(iter(code.blocks.values()))
            for each in code.blocks.values():
                for statement in each.body:
                    for variable in statement.list_vars():
                        if variable.name not in block.scope.localvars:
                            block.scope.localvars.define(variable.name, variable)
        else:
            passes.fixup_var_define_in_scope(code.blocks)
        return True

    return run_pass


def _without_array_expressions(passes: Any, postproc: Any) -> Any:
    """Return the pass that rewrites expressions of whole arrays, which asks first for any."""
    ir, types, whole = passes.ir, passes.types, passes.NopythonRewrites.run_pass

    def run_pass(self: Any, state: Any) -> bool:
        kinds = state.typemap
        if any(isinstance(kind, types.StringLiteral) for kind in kinds.values()):
            return bool(whole(self, state))
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                value = statement.value if isinstance(statement, ir.Assign) else None
                if not isinstance(value, ir.Expr) or value.op not in ARRAY_MAKERS:
                    continue
                array = isinstance(kinds.get(statement.target.name), types.Array)
                called = kinds.get(value.func.name) if value.op == "call" else None
                if value.op == "build_list" or (array and not isinstance(called, types.Dispatcher)):
                    return bool(whole(self, state))
        postproc.PostProcessor(state.func_ir).run()
        return True

    return run_pass


def _without_ends(passes: Any, postproc: Any) -> Any:
    """Return what says where variables end, which nobody need know whose arrays have no counts of references."""
    whole = passes.check_and_legalize_ir

    def legal(code: Any, flags: Any) -> None:
        if flags.nrt or flags.debuginfo or code.is_generator:
            whole(code, flags)
        else:
            postproc.PostProcessor(code).run()

    return legal


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
