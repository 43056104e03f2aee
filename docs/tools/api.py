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
    made["api/index.rst"] = INDEX + "".join(f"   {name}\n" for name in listed)
    return made


INDEX = """Reference
=========

Every public name, ``import flexctl as fx``. Each has an example, which the tests run. Units are SI and stand beside
every number; ``flexctl show PLANT`` says those of a plant.

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
