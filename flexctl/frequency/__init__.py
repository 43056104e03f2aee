"""Frequency responses of plants and models, with grids that miss no peak and a phase that means something.

frequency_response(model)            on a grid of its own, or on given frequencies
transfer(plant, s)         at complex s, see `flexctl.frequency.evaluate` for the method
grid(model)                see `flexctl.frequency.grids`
margins, series, loop_gain see `flexctl.frequency.margins`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..abilities import provenance_of
from ..errors import DefinitionError, require
from ..linear import FirstOrder, SecondOrder
from ..model import ComplexArray, FloatArray, FrequencyModel, Signal, index_of, names
from ..support.checks import real_array
from ..support.kinds import SystemGiven
from ..support.tabular import Column, Tabular
from .channels import main_channels
from .evaluate import Transfer, axis, on_axis, transfer
from .grids import frequency_model, grid, known_poles, nothing, resolved
from .loops import Series, loop_gain, series
from .margins import Margins, margins
from .peaks import Peak, find_peaks
from .phase import followed

if TYPE_CHECKING:
    import control

__all__ = [
    "FrequencyResponse",
    "Margins",
    "Peak",
    "Series",
    "frequency_response",
    "grid",
    "loop_gain",
    "main_channels",
    "margins",
    "series",
    "transfer",
]


@dataclass(frozen=True, eq=False)
class FrequencyResponse(Tabular):
    """H(j omega) of every channel.

    Attributes
    ----------
    omega : ndarray
        Frequencies [rad/s], ascending.
    response : ndarray
        Complex gains, (outputs, inputs, len(omega)), in units of output per unit of input.
    inputs, outputs : tuple of Signal
        The channels.
    provenance : mapping
        Where the numbers come from.
    sigma : ndarray or None
        Of a measured response the standard deviation of every gain, sqrt(E |error|^2), of the same shape.

    Examples
    --------
    >>> found = fx.load_plant("tokhi_azad_1994").frequency_response([1.0, 10.0])
    >>> print(found.magnitude_db()[0, 0].round(2))
    [ 26.02 -17.09]
    """

    omega: FloatArray
    response: ComplexArray
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    _source: FrequencyModel | None = field(default=None, repr=False)
    sigma: FloatArray | None = None

    def __post_init__(self) -> None:
        for key in ("omega", "response") if self.sigma is None else ("omega", "response", "sigma"):
            object.__setattr__(self, key, np.atleast_1d(getattr(self, key)))
        shape = (len(self.outputs), len(self.inputs), self.omega.size)
        require(
            self.response.shape == shape, f"response has shape {self.response.shape}; names and omega ask for {shape}"
        )
        require(bool(np.all(np.diff(self.omega) > 0.0)), "omega must be ascending")
        least = float(np.min(self.omega, initial=0.0))
        require(least >= 0.0, f"omega begins at {least:g} rad/s; give the lines from 0 on, those below say the same")
        given = None if self.sigma is None else self.sigma.shape
        require(given in (None, shape, (0, 0, 0)), f"sigma has shape {given}; the response asks for {shape}")

    def __repr__(self) -> str:
        ends = f"{self.omega[0]:.4g} to {self.omega[-1]:.4g} rad/s" if self.omega.size else "empty"
        note = f"; {self.note}" if self.note else ""
        channels = f"{names(self.inputs)} -> {names(self.outputs)}"
        return f"FrequencyResponse({channels}, {self.omega.size} points, {ends}{note})"

    @property
    def source(self) -> FrequencyModel | None:
        """The model behind the response, None for data."""
        return self._source

    @cached_property
    def evaluate(self) -> Transfer | None:
        """s -> H of the model behind the response, prepared once; None for data."""
        return None if self._source is None else on_axis(self._source)

    @cached_property
    def poles(self) -> ComplexArray | None:
        """Poles of the model with Im >= 0 [rad/s], None where they are not known."""
        return None if self._source is None else known_poles(self._source)

    @cached_property
    def outside(self) -> FloatArray:
        """Frequencies |p| [rad/s] of the flexible modes that lie outside the range of the response, ascending."""
        if self.poles is None or not self.omega.size:
            return np.zeros(0)
        size = np.sort(np.abs(self.poles[self.poles.imag > 0.0]))
        return np.asarray(size[(size < self.omega[0]) | (size > self.omega[-1])])

    @property
    def note(self) -> str:
        """A sentence on what the range leaves out; empty where it holds every mode of the plant."""
        if self.poles is None or not self.omega.size:
            return ""
        modes, hertz = int(np.sum(self.poles.imag > 0.0)), self.omega[[0, -1]] / (2 * np.pi)
        said = [
            f"{count} of {modes} modes lie {where} {limit:.4g} Hz"
            for where, limit, count in (
                ("below", hertz[0], int(np.sum(self.outside < self.omega[0]))),
                ("above", hertz[1], int(np.sum(self.outside > self.omega[-1]))),
            )
            if count
        ]
        if not isinstance(self._source, SecondOrder | FirstOrder):
            said.append("modes above are not looked for")
        return ", ".join(said)

    def peaks(self) -> list[Peak]:
        """Return the resonance peaks of every channel, found at the poles; see `flexctl.frequency.peaks`."""
        return find_peaks(self)

    def channel(self, output: str, input: str | None = None) -> ComplexArray:
        """Return the complex gain of one channel; the input may be left out where there is only one."""
        if input is None:
            require(len(self.inputs) == 1, f"name an input too; there are {names(self.inputs)}")
        column = 0 if input is None else index_of("input", input, self.inputs)
        values: ComplexArray = self.response[index_of("output", output, self.outputs), column]
        return values

    def magnitude(self) -> FloatArray:
        """Return |H|."""
        return np.asarray(np.abs(self.response))

    def magnitude_db(self) -> FloatArray:
        """Return 20 log10 |H|; -inf where H is zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(20.0 * np.log10(np.abs(self.response)))

    def phase_deg(self) -> FloatArray:
        """Return the phase [deg], continuous as the limit of vanishing damping (see `flexctl.frequency.phase`).

        A double integrator starts at -180, an undamped pole turns by -180, an undamped zero by +180. Data without a
        model behind them are unwrapped along the axis instead, from between -270 and +90.
        """
        if self.evaluate is None:
            phase = np.degrees(np.unwrap(np.angle(self.response), axis=2))
            # data of a double integrator begin at -180, not at +180
            return np.asarray(phase - 360.0 * np.ceil((phase[..., :1] - 90.0) / 360.0))
        poles = self.poles
        corners = np.zeros(0) if poles is None else np.abs(poles[poles != 0.0])
        return followed(self.evaluate, self.omega, self.response, corners)

    def to_frd(self) -> control.FrequencyResponseData:
        """Return a labelled `control.FrequencyResponseData`."""
        import control

        return control.frd(self.response, self.omega, inputs=names(self.inputs), outputs=names(self.outputs))

    _index = "omega"

    def _table(self) -> list[Column]:
        """Return the frequencies [rad/s] and, for every channel "output/input", real and imaginary part, and sigma."""
        parts = [
            Column(f"{y.name}/{u.name}:{part}", getattr(self.response[i, k], part), f"{y.unit}/({u.unit})")
            for i, y in enumerate(self.outputs) for k, u in enumerate(self.inputs) for part in ("real", "imag")
        ]
        spread = [] if self.sigma is None else [
            Column(f"{y.name}/{u.name}:sigma", self.sigma[i, k], f"{y.unit}/({u.unit})")
            for i, y in enumerate(self.outputs) for k, u in enumerate(self.inputs)
        ]
        return [Column("omega", self.omega, "rad/s"), *parts, *spread]

    def _about(self) -> Mapping[str, Any]:
        return {**self.provenance, "modes_outside_hz": (self.outside / (2 * np.pi)).tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of `flexctl bode --json`: response["real"][output][input][frequency], and "imag".

        With sigma[output][input][frequency] where the response has standard deviations.
        """
        spread = {} if self.sigma is None else {"sigma": self.sigma.tolist()}
        return {
            "omega_rad_s": self.omega.tolist(),
            "inputs": names(self.inputs),
            "outputs": names(self.outputs),
            "modes_outside_hz": (self.outside / (2 * np.pi)).tolist(),
            "response": {"real": self.response.real.tolist(), "imag": self.response.imag.tolist()},
            **spread,
        }


def frequency_response(
    model: SystemGiven,
    omega: npt.ArrayLike | None = None,
    *,
    lo: float | None = None,
    hi: float | None = None,
    points: int = 400,
) -> FrequencyResponse:
    """Return the frequency response of a plant, a mechanical model (linearised at rest) or any `FrequencyModel`.

    Parameters
    ----------
    model
        What to evaluate.
    omega : array_like, optional
        Frequencies [rad/s], ascending; by default a grid on which no peak and no notch is missed, from below the first
        to above the last flexible mode (the tenth of a discretised arm, of which the last are those of the mesh).
        `outside` and `note` of the result tell which modes are not in it. A model whose poles are not known needs
        frequencies, or `lo` and `hi`.
    lo, hi, points : optional
        Range [rad/s] and base of that grid, as in `grid`, whose frequencies need no second evaluation here.

    A channel that is nothing but rounding beside what other inputs do to its output is returned as zero.

    Examples
    --------
    >>> found = fx.frequency_response(fx.load_plant("tokhi_azad_1994").linearise(), [1.0, 10.0])
    >>> print(abs(found.channel("joint1_angle")).round(4))
    [20.0038  0.1398]
    """
    plant = frequency_model(model)
    evaluate = on_axis(plant)
    if omega is None:
        at, H = resolved(plant, evaluate, lo, hi, points)
    else:
        require(lo is None and hi is None, "omega holds the frequencies: leave lo and hi out")
        at = _checked(omega)
        H = evaluate(axis(at))
    p = len(plant.inputs)
    dead = nothing(H.reshape(-1, at.size), max(p, 1)).reshape(-1, p)
    H = np.where(dead[:, :, None], 0.0, H.reshape(len(plant.outputs), p, at.size))
    note = provenance_of(plant)
    found = FrequencyResponse(at, H, tuple(plant.inputs), tuple(plant.outputs), note, plant)
    found.__dict__["evaluate"] = evaluate
    return found


def _checked(omega: npt.ArrayLike) -> FloatArray:
    at = np.atleast_1d(real_array("omega", omega))
    if at.ndim != 1 or not at.size or not np.isfinite(at).all() or np.any(at < 0.0) or np.any(np.diff(at) <= 0.0):
        raise DefinitionError("omega must be a list of finite frequencies >= 0 rad/s in ascending order, none twice")
    return at
