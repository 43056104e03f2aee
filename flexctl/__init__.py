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
import sys

TYPE_CHECKING = False  # typing, re and pathlib take longer to import than all the rest of this file
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def _listed(stub: str) -> dict[str, tuple[str, str]]:
    """Return public name -> (module, name there) of every ``from .module import name as public`` of a stub."""
    found = {}
    for block in stub.split("\nfrom ")[1:]:
        module, _, names = block.partition(" import ")
        words = names.partition(")")[0].strip("(").split() if names.startswith("(") else names.split("\n")[0].split()
        for name, _, public in zip(words[::3], words[1::3], words[2::3], strict=True):
            found[public.rstrip(",")] = module, name
    return found


with open(__file__[: -len("py")] + "pyi", encoding="utf-8") as _stream:
    _HOME = _listed(_stream.read())
"""Public name -> where it is: a module, and the name there of a class, a function or another module."""
__all__ = sorted({"__version__", *_HOME})


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from .support.moved import unknown_name

        raise AttributeError(unknown_name(name, _HOME))
    place, own = _HOME[name]
    if place == ".":  # a folder that is public as a whole
        return importlib.import_module(f".{own}", __name__)
    module = importlib.import_module(place, __name__)
    value = getattr(module, own) if hasattr(module, own) else importlib.import_module(f"{module.__name__}.{own}")
    from .support.kinds import guarded

    globals()[name] = value = guarded(value, name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


_CLASSES: dict[str, list[str]] = {}
"""Module -> what it has of the public names."""
for _place, _own in _HOME.values():
    _CLASSES.setdefault(f"{__name__}{_place}", []).append(_own)


class _FirstFinder:
    """Asked first for a module: where it has public classes, their methods check their arguments from its import on."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _CLASSES:
            return None
        from importlib.machinery import PathFinder, SourceFileLoader

        found = PathFinder.find_spec(name, path, target)
        if found is None or not isinstance(found.loader, SourceFileLoader):
            return found
        execute = found.loader.exec_module

        def execute_and_guard(module: Any) -> None:
            execute(module)
            for own in _CLASSES[name]:
                thing = vars(module).get(own)
                if isinstance(thing, type) and not issubclass(thing, BaseException):
                    from .support.kinds import guard_methods

                    guard_methods(thing)

        found.loader.exec_module = execute_and_guard  # type: ignore[method-assign]
        return found


class _LastFinder:
    """Asked when nobody has found a module: says where a module of flexctl went."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name.startswith("flexctl."):
            from .support.moved import check_module

            check_module(name)


sys.meta_path.insert(0, _FirstFinder)  # type: ignore[arg-type]
sys.meta_path.append(_LastFinder)  # type: ignore[arg-type]
