"""A linear plant in the place of an arm: matrices of the user's own, of a file, or of measurements.

It goes wherever a plant of the catalogue goes: designs, simulations, certificates, sweeps, the command line. What there
is of it to change are its natural frequencies, its damping and its gains, by these keys:

    mode.1.frequency_hz, mode.1.damping      of one flexible mode, numbered by frequency [Hz], [1]
    modes.frequency_factor                   on all natural frequencies, damping ratios as they are [1]
    modes.damping_factor                     on all damping ratios [1]
    modes.damping                            the damping ratio of all flexible modes [1]
    input.NAME.gain, output.NAME.gain        factor on an input or output [1]

It has no payload, poses or gravity, and no motion is too large for it: what needs an arm says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import __version__
from ..abilities import provenance_of
from ..errors import DefinitionError, NotAvailable, require, unknown
from ..linear import FirstOrder, LinearPlant, SecondOrder
from ..linear.linear_model import LinearModel
from ..linear.remade import Mode, flexible, with_gains, with_modes
from ..linear.state_model import StateModel
from ..model import MechanicalModel, OperatingPoint, names
from . import Plant
from .definition import Row
from .overrides import merge
from .uncertainty import Uncertainty

if TYPE_CHECKING:
    from ..frequency import FrequencyResponse
    from ..model import FloatArray

FACTOR, DAMPING_FACTOR, DAMPING = "modes.frequency_factor", "modes.damping_factor", "modes.damping"
_MODE = re.compile(r"mode\.(\d+)\.(frequency_hz|damping)")
_GAIN = re.compile(r"(input|output)\.(.+)\.gain")
UNITS = {"frequency_hz": "Hz", "damping": "1", "gain": "1", "frequency_factor": "1", "damping_factor": "1"}
LISTED = 20
"""Modes that are listed with their keys; of more, each key works all the same."""


class NoArm(NotAvailable, AttributeError):
    """Something needs the data of an arm, and the plant is a linear one."""


class LinearSystem(Plant):
    """A linear plant in the place of an arm: matrices of the user's own, of a file, or of measurements.

    Its natural frequencies, damping and gains can be changed: mode.N.frequency_hz, mode.N.damping,
    modes.frequency_factor, modes.damping_factor, modes.damping, input.NAME.gain, output.NAME.gain.

    Made by `load_plant` from a .mat, .npz, .json or .mtx file (one that holds a measured response is fitted), or from a
    plant file with ``[model] kind = "matrices"``, and from a `SecondOrder`, `FirstOrder` or control.StateSpace wherever
    a plant is needed.

    Attributes
    ----------
    given_linear : SecondOrder or FirstOrder
        The plant as it is given, without overrides.

    Examples
    --------
    >>> path = fx.load_plant("tokhi_azad_1994").linearise().save("plant.mat")
    >>> plant = fx.load_plant(path)
    >>> softer = plant.with_({"mode.1.frequency_hz": 10.0})
    >>> print([f"{p.modes(1).frequencies_hz[0]:.2f} Hz" for p in (plant, softer)])
    ['11.74 Hz', '10.00 Hz']
    """

    given_linear: LinearPlant

    def __init__(
        self, linear: LinearPlant, name: str = "", source: str = "", overrides: Mapping[str, Any] | None = None,
        title: str = "", reference: str = "", files: tuple[Path, ...] = (), uncertainty: Uncertainty | None = None,
    ) -> None:
        told = str(provenance_of(linear).get("plant", "") or "linear plant")
        kind = "state_space" if isinstance(linear, FirstOrder) else "linear"
        values = {
            "name": name or told, "title": title or f"a linear plant: {linear!r}", "reference": reference,
            "kind": kind, "options": {}, "overrides": dict(overrides or {}), "expected": (), "rows": (),
            "source": source or "given in Python", "tables": {}, "given_linear": linear, "files": files,
            "uncertainty": uncertainty,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "rows", self._rows())
        self._check()

    def __getattr__(self, name: str) -> NoReturn:
        if name == "arm":
            raise NoArm(
                f"{self.__dict__.get('name', 'this')} is a linear plant: it has no joints, links, payload or poses; "
                "this needs the plant file of an arm"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"LinearSystem({self.name}, {self.linear_plant!r})"

    @property
    def linear_plant(self) -> LinearPlant:
        """The plant with its overrides."""
        return self._changed

    @cached_property
    def _changed(self) -> LinearPlant:
        plant = _changed(self.given_linear, self.overrides) if self.overrides else self.given_linear
        return replace(plant, provenance={**plant.provenance, **self.identity})

    @cached_property
    def model(self) -> MechanicalModel:
        """The plant as a model that `simulate` runs."""
        plant = self.linear_plant
        return LinearModel(plant) if isinstance(plant, SecondOrder) else StateModel(plant)

    @property
    def place(self) -> str:
        """The full path of the file."""
        if not Path(self.source).is_file():
            raise NotAvailable(f"{self.name} is in no file: save it (plant.save) and give the path")
        return str(Path(self.source).resolve())

    @property
    def identity(self) -> dict[str, Any]:
        """The description that every result of this plant carries: plant, model, overrides, version, source."""
        before = provenance_of(self.given_linear)
        changed = {**dict(before.get("overrides", {})), **self.overrides}
        return {
            "plant": before.get("plant", self.name), "model": before.get("model", self.kind), "overrides": changed,
            "version": __version__, "source": self.source,
        }

    def check_payload(self, mass: float, inertia: float) -> None:
        """Refuse any payload."""
        raise NotAvailable(f"{self.name} is a linear plant, which has no payload")

    def linearise(self, at: OperatingPoint | None = None) -> LinearPlant:  # type: ignore[override]
        """Return the plant itself: it is the same at every operating point."""
        return self.linear_plant

    def modes(self, count: int | None = None) -> Any:  # type: ignore[override]
        """Return the `count` lowest flexible modes."""
        return self.linear_plant.modes(count)

    def frequency_response(self, omega: FloatArray | None = None) -> FrequencyResponse:  # type: ignore[override]
        """Return the frequency response on a grid [rad/s]."""
        return self.linear_plant.frequency_response(omega)

    def with_(
        self, overrides: Mapping[str, Any] | None = None, *, model: str | Mapping[str, Any] | None = None,
        **tables: Any,
    ) -> LinearSystem:
        """Return the plant with further overrides, by the keys of the module docstring."""
        if model is not None:
            raise NotAvailable(f"{self.name} is a linear plant: there is no other model of it")
        found = {**self.overrides, **merge(overrides, None, tables)}
        return LinearSystem(
            self.given_linear, self.name, self.source, found, self.title, self.reference, self.__dict__["files"],
            self.uncertainty,
        )

    def _check(self) -> None:
        for key, value in self.overrides.items():
            mode, gain = _MODE.fullmatch(key), _GAIN.fullmatch(key)
            if not (mode or gain or key in (FACTOR, DAMPING_FACTOR, DAMPING)):
                raise unknown(f"override of {self.name}, a linear plant,", key, [row.key for row in self.rows])
            real = isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
            require(real, f"{key} = {value!r} is not a finite number")
            if mode:
                count = len(flexible(self.given_linear))
                require(1 <= int(mode[1]) <= count, f"{key}: {self.name} has {count} flexible modes")
            if gain:
                known = names(getattr(self.given_linear, f"{gain[1]}s"))
                if gain[2] not in known:
                    raise unknown(f"{gain[1]} of {self.name}", gain[2], known)
            above = key != FACTOR and not key.endswith("frequency_hz")
            require(above or value > 0, f"{key} = {value:g} must be positive")
        if DAMPING in self.overrides and DAMPING_FACTOR in self.overrides:
            raise DefinitionError(f"{DAMPING} and {DAMPING_FACTOR} are both given; keep one")

    def _rows(self) -> tuple[Row, ...]:
        own: list[tuple[str, float, str, str]] = []
        for number, mode in enumerate(flexible(self.given_linear)[:LISTED], 1):
            hertz = mode.omega / (2.0 * np.pi)
            own.append((f"mode.{number}.frequency_hz", hertz, "Hz", "natural frequency"))
            own.append((f"mode.{number}.damping", mode.damping, "1", "damping ratio"))
        own.append((FACTOR, 1.0, "1", "factor on all natural frequencies"))
        own.append((DAMPING_FACTOR, 1.0, "1", "factor on all damping ratios"))
        for word in ("input", "output"):
            for signal in getattr(self.given_linear, f"{word}s"):
                own.append((f"{word}.{signal.name}.gain", 1.0, "1", f"factor on the {word} {signal}"))
        told = dict.fromkeys(self.overrides, "chosen: override")
        rows = [
            Row(key, self.overrides.get(key, value), unit, text, key in told, False, told.get(key, "default"))
            for key, value, unit, text in own
        ]
        if DAMPING in self.overrides:
            rows.append(Row(DAMPING, self.overrides[DAMPING], "1", "damping ratio of all modes", True, False, "chosen"))
        return tuple(rows)


def _changed(plant: LinearPlant, overrides: Mapping[str, Any]) -> LinearPlant:
    modes = flexible(plant)
    factor, damped = overrides.get(FACTOR, 1.0), overrides.get(DAMPING_FACTOR, 1.0)
    changes: dict[int, Mode] = {}
    for i, mode in enumerate(modes):
        omega = 2.0 * np.pi * overrides.get(f"mode.{i + 1}.frequency_hz", mode.omega / (2.0 * np.pi)) * factor
        damping = overrides.get(f"mode.{i + 1}.damping", overrides.get(DAMPING, mode.damping * damped))
        if omega != mode.omega or damping != mode.damping:
            changes[i] = Mode(float(omega), float(damping))
    found = with_modes(plant, changes) if changes else plant
    gains: dict[str, dict[str, float]] = {"input": {}, "output": {}}
    for key, value in overrides.items():
        gain = _GAIN.fullmatch(key)
        if gain:
            gains[gain[1]][gain[2]] = float(value)
    return with_gains(found, gains["input"], gains["output"]) if any(gains.values()) else found


def key_unit(key: str) -> str | None:
    """Return the unit of a key of a linear plant, None for any other key."""
    known = _MODE.fullmatch(key) or _GAIN.fullmatch(key) or key in (FACTOR, DAMPING_FACTOR, DAMPING)
    return UNITS[key.rpartition(".")[2]] if known else None
