"""The reference of the public names, in the groups in which they stand in flexctl/__init__.pyi."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any


def groups() -> dict[str, list[str]]:
    """Return heading -> public names, as `flexctl/__init__.pyi` has them."""
    import flexctl

    text = Path(flexctl.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for block in re.split(r"(?m)^# ", text)[1:]:
        heading, _, body = block.partition("\n")
        names = re.findall(r"\w+ as (\w+)", body)
        if names:
            found[heading] = names
    return found


def pages() -> dict[str, str]:
    """Return api/index.rst and one page for every group and every public module."""
    import flexctl as fx

    made, listed = {}, []
    for heading, names in groups().items():
        stem = re.sub(r"\W+", "_", heading.partition(":")[0].lower())
        things = [name for name in names if not isinstance(getattr(fx, name), ModuleType)]
        modules = [name for name in names if name not in things]
        if things:
            made[f"api/{stem}.rst"] = _page(heading, "flexctl", things, fx)
            listed.append(stem)
        for name in modules:
            module = getattr(fx, name)
            inside = _public(module)
            made[f"api/{name}.rst"] = _page(f"fx.{name}", f"flexctl.{name}", inside, module)
            listed.append(name)
    made["api/index.rst"] = INDEX + "".join(f"   {name}\n" for name in listed) + "\n" + _every_name(fx)
    return made


def _every_name(fx: Any) -> str:
    """Return all names of all groups with what they are for, one line each, as links."""
    parts = []
    for heading, names in groups().items():
        title, _, rest = heading.partition(": ")
        title += f": {rest}" if rest else ""
        parts.append(f"{title}\n{'-' * len(title)}\n")
        rows = [(name, _first_sentence(getattr(fx, name)), isinstance(getattr(fx, name), ModuleType)) for name in names]
        parts.append(".. list-table::\n   :widths: 28 72\n")
        for name, told, module in rows:
            link = f":doc:`fx.{name} <{name}>`" if module else f":py:obj:`~flexctl.{name}`"
            parts.append(f"   * - {link}\n     - {told}")
        parts.append("")
    return "\n".join(parts) + "\n"


def _first_sentence(thing: Any) -> str:
    """Return the first sentence of a docstring on one line, its marks taken as text."""
    text = re.sub(r"(?<=\w\.) .*", "", " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split()))
    parts = text.rstrip(".;:").split("`")  # what stands between backticks is code
    return "".join(f"``{x}``" if k % 2 else re.sub(r"([\\*_|])", r"\\\1", x) for k, x in enumerate(parts))


INDEX = """Reference
=========

Every public name, ``import flexctl as fx``, with what it is for. Each has an example, which the tests run; in Python,
``help(fx.lqg)``. Units are SI and stand beside every number; ``flexctl show PLANT`` says those of a plant.

.. toctree::
   :maxdepth: 1

"""


def _public(module: Any) -> list[str]:
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return [name for name in names if inspect.isclass(getattr(module, name)) or callable(getattr(module, name))]


def _page(heading: str, module: str, names: list[str], home: Any) -> str:
    title, _, rest = heading.partition(": ")
    parts = [f"{title}\n{'=' * len(title)}\n"]
    if rest:
        parts.append(f"{rest[0].upper()}{rest[1:]}.\n")
    if isinstance(home, ModuleType) and module != "flexctl":
        parts.append(f".. automodule:: {home.__name__}\n   :no-index:\n")
    parts.append(f".. currentmodule:: {module}\n")
    parts.append(".. autosummary::\n   :nosignatures:\n\n" + "".join(f"   {name}\n" for name in names))
    for name in names:
        thing = getattr(home, name)
        kind = "autoclass" if inspect.isclass(thing) else "autofunction"
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            kind = "autoexception"
        members = "   :members:\n" if kind == "autoclass" else ""
        parts.append(f".. {kind}:: {name}\n{members}")
    return "\n".join(parts)
