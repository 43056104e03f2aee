"""flexctl: controller design for flexible robot arms.

    import flexctl as fx
    arm = fx.load_plant("tokhi_azad_1994")        # a plant of the catalogue, or a path to any TOML file
    plant = arm.linearise()                       # M, D, K, B, Cq, Cv, Ca with names, about an operating point
    sys = plant.statespace()                      # control.StateSpace
    run = fx.simulate(arm, controller, reference, duration=1.2)

The public names stand in `__init__.pyi`, once. Each is imported from its module on first use, so that `import flexctl`
stays light.
"""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
from typing import Any

from .support import moved

__version__ = "0.1.0"

_STUB = pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {
    public: (module, name)
    for module, names in re.findall(r"^from (\.[\w.]*) import (\([^)]*\)|.*)$", _STUB, re.MULTILINE)
    for name, public in re.findall(r"(\w+) as (\w+)", names)
}
"""Public name -> where it is: a module, and the name there of a class, a function or another module."""
__all__ = sorted({"__version__", *_HOME})


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(moved.unknown_name(name, _HOME))
    place, own = _HOME[name]
    module = importlib.import_module(place, __name__)
    value = getattr(module, own) if hasattr(module, own) else importlib.import_module(f"{module.__name__}.{own}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.meta_path.append(moved.Finder())
