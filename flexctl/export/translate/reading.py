"""The Python text of a compiled function, and what the names in it stand for."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ...kernels.contents import CALLS
from .types import Untranslatable


def plain(function: Any) -> Callable[..., Any]:
    """Return the Python function of one that numba compiles; of one that calls another by its address that one's."""
    found = getattr(function, "py_func", function)
    found = getattr(getattr(found, CALLS, found), "py_func", getattr(found, CALLS, found))
    if not inspect.isfunction(found):
        raise Untranslatable(f"{function!r} has no Python text")
    return found


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function; line numbers are those of its file."""
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as error:
        raise Untranslatable(f"the text of {function.__qualname__} is not there: {error}") from error
    tree = ast.parse(textwrap.dedent("".join(lines)))
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise Untranslatable(f"{function.__qualname__} is no function with a name")
    ast.increment_lineno(found, first - 1)
    if found.args.vararg or found.args.kwarg or found.args.kwonlyargs or found.args.defaults:
        raise Untranslatable(f"{function.__qualname__} takes more than plain arguments")
    return found


def surroundings(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what names from outside a function stand for."""
    found = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        found[name] = cell.cell_contents
    return found


def assigned(tree: ast.FunctionDef) -> set[str]:
    """Return the names that a function gives values to, its arguments among them."""
    names = {argument.arg for argument in tree.args.args}
    stored = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return names | {node.id for node in stored}


def body_of(tree: ast.FunctionDef) -> tuple[str, list[ast.stmt]]:
    """Return the first line of the docstring and the statements."""
    text = ast.get_docstring(tree) or ""
    return text.splitlines()[0] if text else "", tree.body[1:] if text else tree.body
