"""Models from outside of flexctl: a class in an importable module, in a `.py` file, or announced by a package.

    kind = "my_package.my_module:MyModel"       importable where flexctl runs
    kind = "my_model.py:MyModel"                a file, beside the plant file that names it; else in the working folder
    kind = "two_mass"                           a name that an installed package announces as entry point

    [project.entry-points."flexctl.models"]     in the pyproject.toml of that package
    two_mass = "my_package.my_module:TwoMass"

**Whoever builds such a model runs its code**: loading a plant file that names one is as safe as running a script of the
same origin, and no safer.

A file is executed once for each state it has on the disk. Its module is found again by its name in every process
(`_Finder`), so that laws and models of its classes can be sent to the workers of sweeps and certificates.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import DefinitionError, FlexctlError, require
from ..machine.arm import Arm
from ..model import MechanicalModel
from .answers import check_answers

GROUP = "flexctl.models"
"""Group of the entry points by which packages announce models."""
_CLASS = re.compile(r"[^\W\d]\w*")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_PREFIX = "flexctl_model_file_"
_PARTS = ("coordinates", "inputs", "outputs", "closures", "reference", "mass", "force", "tangent", "output", "compiled")
FORMS = 'write "module:Class", "file.py:Class" or the name of an installed model'


def is_outside(kind: str) -> bool:
    """Whether a kind says where its class is, in place of a name."""
    return ":" in kind


def absolute(kind: str, folder: Path) -> str:
    """Return a kind with the full path of its file, from a folder; other kinds as they are."""
    file, colon, name = kind.rpartition(":")
    if not (colon and file.endswith(".py")) or not kind.isprintable():
        return kind
    return f"{(folder / Path(file).expanduser()).resolve()}:{name}"


def file_of(kind: str) -> Path | None:
    """Return the file of a kind, None for one that has none."""
    file = kind.rpartition(":")[0]
    return Path(file) if file.endswith(".py") else None


def announced() -> dict[str, str]:
    """Return what installed packages announce: name -> "module:Class"."""
    from importlib.metadata import entry_points  # takes as long to import as all of this package

    return {point.name: point.value for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def check_kind(kind: str) -> None:
    """Raise `DefinitionError` for a text that cannot say where a class is."""
    shown = ascii(kind) if len(kind) <= 80 else f"{kind[:77]!a}..."
    require(kind.isprintable() and len(kind) <= 4096, f"kind of model {shown} is not printable text; {FORMS}")
    where, _, name = kind.rpartition(":")
    proper = _CLASS.fullmatch(name) is not None and (where.endswith(".py") or _MODULE.fullmatch(where) is not None)
    require(proper, f"kind of model {shown} is not understood; {FORMS}")


def outside_class(kind: str) -> Callable[..., Any]:
    """Return the class of "module:Class" or "file.py:Class"; this runs the code of that module.

    Raises
    ------
    DefinitionError
        When there is no such module, file or class, or its code fails; the error of the code is chained.
    """
    check_kind(kind)
    where, _, name = kind.rpartition(":")
    try:
        module = importlib.import_module(_module_name(Path(where)) if where.endswith(".py") else where)
    except FlexctlError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(f"model {kind}: cannot import {where}", error, where) from error
    found = vars(module).get(name)
    known = sorted(key for key, value in vars(module).items() if isinstance(value, type) and not key.startswith("_"))
    require(callable(found), f"model {kind}: {where} has no class {name}; it has {', '.join(known) or 'none'}")
    made: Callable[..., Any] = vars(module)[name]
    return made


def check_known(arm: Arm, kind: str, known: Collection[str]) -> None:
    """Raise `DefinitionError` when an arm has what models of flexctl mind by themselves and this class does not name.

    These words stand in `features` beside those of `Arm.features`: "links", "gravity", "damping", "actuator", "sensor".
    """
    has = {
        "links": len(arm.links) > 1, "gravity": any(arm.gravity), "damping": arm.damping.kind != "none",
        "actuator": bool(arm.actuators), "sensor": bool(arm.sensors),
    }
    for word, there in has.items():
        remedy = f'leave it out, or name "{word}" in features of the class once it knows it'
        require(not there or word in known, f"{kind} does not know {_WORDS[word]} of the arm; {remedy}")


_WORDS = {
    "links": "the further links", "gravity": "the gravity", "damping": "the [damping]", "actuator": "the [[actuator]]",
    "sensor": "the [[sensor]]",
}


def made(kind: str, build: Callable[[], Any]) -> MechanicalModel:
    """Return the model that code from outside builds, or raise `DefinitionError` where it fails or is not one."""
    try:
        model = build()
    except FlexctlError:
        raise
    except Exception as error:
        raise _failed(f"model {kind}", error, kind.rpartition(":")[0]) from error
    if not isinstance(model, MechanicalModel):
        missing = [name for name in _PARTS if name not in dir(model)]
        lacks = f"it lacks {', '.join(missing)}" if missing else "see flexctl.MechanicalModel"
        raise DefinitionError(f"model {kind}: a {type(model).__name__} is not a mechanical model; {lacks}")
    try:
        check_answers(model)
    except DefinitionError as error:
        raise DefinitionError(f"model {kind}: {error}") from error
    except FlexctlError:
        raise
    except Exception as error:
        raise _failed(f"model {kind}", error, kind.rpartition(":")[0]) from error
    return model


def _failed(what: str, error: BaseException, where: str) -> DefinitionError:
    """Return the error of code from outside, with the last line of its file that took part."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if where.endswith(".py") and Path(frame.filename) == Path(where)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    at = f", line {line}" if line else ""
    return DefinitionError(f"{what}{at}: {type(error).__name__}: {error}")


def _module_name(file: Path) -> str:
    """Return the name under which a file is imported: its path and the state it has on the disk."""
    path = file.resolve()
    require(path.is_file(), f"{file}: cannot read the model's file: there is no such file")
    state = path.stat()
    return f"{_PREFIX}{state.st_mtime_ns:x}_{state.st_size:x}_{str(path).encode().hex()}"


class _Finder:
    """Finds the modules of model files by their names."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the module is, None for a name that is not ours."""
        if not name.startswith(_PREFIX):
            return None
        return importlib.util.spec_from_file_location(name, bytes.fromhex(name.rpartition("_")[2]).decode())


if _Finder not in sys.meta_path:
    sys.meta_path.append(_Finder)
