"""A measured frequency response: gains with their standard deviation, coherence, and how the data were sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, require
from ..frequency import FrequencyResponse
from ..machine.given import is_measured, lines_of, refused
from ..model import ComplexArray, FloatArray, Signal, names
from ..support.tabular import Column


def _none() -> Any:
    return np.zeros((0, 0, 0))


@dataclass(frozen=True, eq=False)
class MeasuredResponse(FrequencyResponse):
    """Measured gains of every channel.

    Attributes
    ----------
    omega, response, inputs, outputs
        As of `FrequencyResponse`.
    sigma : ndarray
        Standard deviation of each complex gain, sqrt(E |error|^2), of the shape of `response`.
    coherence : ndarray
        Coherence of each output with all inputs, (outputs, len(omega)); NaN where the data do not give it.
    dt : float
        Sample time [s] of the data, 0 for a response of continuous time.
    held : bool
        Whether the input was held between samples: the response then has the hold's lag, half a sample.
    method : str
        How it was estimated.

    Examples
    --------
    >>> x = np.random.default_rng(1).standard_normal(4096)
    >>> found = fx.identify.frf(fx.identify.record(1e-2, {"u [N]": x}, {"y [m]": 2e-3 * x}))
    >>> print(abs(found.channel("y", "u")).round(6).max(), found.method)
    0.002 H1
    """

    sigma: FloatArray = field(default_factory=_none)
    coherence: FloatArray = field(default_factory=_none)
    dt: float = 0.0
    held: bool = False
    method: str = "given"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "coherence", np.atleast_1d(self.coherence))
        if self.sigma.size == 0:
            object.__setattr__(self, "sigma", np.full(self.response.shape, np.nan))
        if self.coherence.size == 0:
            object.__setattr__(self, "coherence", np.full((len(self.outputs), self.omega.size), np.nan))
        require(
            self.sigma.shape == self.response.shape, f"sigma has shape {self.sigma.shape}, not that of the response"
        )
        bad = int(np.sum(~np.isfinite(self.response)))
        require(bad == 0, f"the response has {bad} values that are not finite; leave those frequencies out")
        known = self.sigma[np.isfinite(self.sigma)]
        require(not known.size or bool((known >= 0.0).all()), "sigma has negative values")

    def __repr__(self) -> str:
        hertz = self.omega[[0, -1]] / (2.0 * np.pi)
        channels = f"{names(self.inputs)} -> {names(self.outputs)}"
        return (
            f"MeasuredResponse({channels}, {self.omega.size} lines, {hertz[0]:.4g} to {hertz[1]:.4g} Hz, {self.method})"
        )

    @property
    def has_sigma(self) -> bool:
        """Whether the standard deviation of every line is known."""
        return bool(np.isfinite(self.sigma).all() and (self.sigma > 0.0).all())

    def band(self, low: float, high: float) -> MeasuredResponse:
        """Return the lines from low to high [rad/s]."""
        inside = (self.omega >= low) & (self.omega <= high)
        require(bool(inside.any()), f"no line lies from {low:g} to {high:g} rad/s")
        return self.lines(inside)

    def lines(self, which: Any) -> MeasuredResponse:
        """Return some of the lines, by a mask or their numbers."""
        return replace(
            self,
            omega=self.omega[which],
            response=self.response[:, :, which],
            sigma=self.sigma[:, :, which],
            coherence=self.coherence[:, which],
        )

    def choose(self, outputs: Sequence[str] | None = None, inputs: Sequence[str] | None = None) -> MeasuredResponse:
        """Return some of the outputs and inputs, in that order."""
        rows, columns = _places("output", outputs, self.outputs), _places("input", inputs, self.inputs)
        return replace(
            self,
            inputs=tuple(self.inputs[k] for k in columns),
            outputs=tuple(self.outputs[i] for i in rows),
            response=self.response[np.ix_(rows, columns)],
            sigma=self.sigma[np.ix_(rows, columns)],
            coherence=self.coherence[rows],
        )

    def unheld(self, delay: float = 0.0) -> MeasuredResponse:
        """Return the response with the lag of the hold and a delay [s] taken out: that of continuous time.

        H s T / (1 - exp(-s T)) exp(s delay): right where nothing is folded back from above the Nyquist frequency.
        """
        s = 1j * self.omega
        factor = np.exp(s * delay)
        if self.held and self.dt > 0.0:
            factor = factor * s * self.dt / (1.0 - np.exp(-s * self.dt))
        return replace(
            self,
            response=self.response * factor,
            sigma=self.sigma * np.abs(factor),
            held=False,
            dt=0.0,
        )

    def _table(self) -> list[Column]:
        shared = [Column(f"{y.name}:coherence", self.coherence[i], "1") for i, y in enumerate(self.outputs)]
        return [*super()._table(), *shared]

    def _about(self) -> dict[str, Any]:
        return {
            **self.provenance,
            "method": self.method,
            "dt_s": self.dt,
            "held": self.held,
            "inputs": names(self.inputs),
            "outputs": names(self.outputs),
            "kind": "frequency response",
        }

    def _formats(self) -> dict[str, Callable[[IO[bytes]], Any]]:
        return super()._formats()


def _places(kind: str, chosen: Sequence[str] | None, signals: Sequence[Signal]) -> list[int]:
    known = names(signals)
    missing = [name for name in chosen or () if name not in known]
    require(not missing, f"the response has no {kind} {', '.join(missing)}; it has {', '.join(known)}")
    return list(range(len(known))) if chosen is None else [known.index(name) for name in chosen]


def as_measured(given: Any) -> MeasuredResponse:
    """Return frequency response data as a `MeasuredResponse`: without the line at zero, sigma NaN where not known."""
    found = lines_of(given)
    if isinstance(found, MeasuredResponse):
        return found
    if not is_measured(found):
        taken = "what identify.frf, identify.read_frf or identify.measured_response returns"
        raise refused("a measured frequency response", given, taken)
    sigma = _none() if found.sigma is None else np.asarray(found.sigma, float)
    used = found.omega > 0.0
    return MeasuredResponse(
        found.omega[used], found.response[:, :, used], tuple(found.inputs), tuple(found.outputs),
        sigma=sigma[:, :, used] if sigma.size else sigma,
    )


def measured_response(
    omega: FloatArray,
    response: ComplexArray,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    sigma: npt.ArrayLike | None = None,
    relative: float | None = None,
    dt: float = 0.0,
    held: bool = False,
) -> MeasuredResponse:
    """Return a frequency response from arrays.

    Parameters
    ----------
    omega : ndarray
        Frequencies [rad/s], ascending.
    response : ndarray
        Complex gains, (outputs, inputs, len(omega)); a vector for a single channel.
    inputs, outputs : sequence of str
        "name [unit]" each.
    sigma : array_like, optional
        Standard deviation of the gains, of the same shape; or `relative`, one for all as a part of |H|.
    relative : float, optional
        See `sigma`.
    dt, held
        Sample time [s] and hold of the data; 0 and False for a response of continuous time.

    Examples
    --------
    >>> w = np.linspace(1.0, 10.0, 10)
    >>> fx.identify.measured_response(w, 1.0 / (4.0 - w**2 + 0.1j * w), ["force [N]"], ["x [m]"], relative=0.01)
    MeasuredResponse(['force'] -> ['x'], 10 lines, 0.1592 to 1.592 Hz, given)
    """
    from .record import parsed_head

    u, y = (tuple(parsed_head(head) for head in heads) for heads in (inputs, outputs))
    at = np.asarray(omega, float)
    shape = (len(y), len(u), at.size)
    gains = np.asarray(response, complex)
    gains = gains.reshape(shape) if gains.size == int(np.prod(shape)) else gains
    if gains.shape != shape:
        raise DefinitionError(f"response has shape {gains.shape}; names and frequencies ask for {shape}")
    require(bool(np.isfinite(at).all()) and bool((at >= 0.0).all()), "frequencies must be finite and not negative")
    factor = np.array([[a[1] / b[1] for b in u] for a in y])[:, :, None]
    gains = gains * factor
    require(sigma is None or relative is None, "sigma and relative say the same thing: give one of them")
    spread = None
    if relative is not None:
        require(0.0 < relative < 1.0, f"relative = {relative} must be between 0 and 1")
        spread = relative * np.abs(gains)
    elif sigma is not None:
        spread = np.broadcast_to(np.asarray(sigma, float), shape) * factor
    return MeasuredResponse(
        at,
        gains,
        tuple(s for s, _ in u),
        tuple(s for s, _ in y),
        sigma=_none() if spread is None else np.array(spread),
        dt=dt,
        held=held,
    )
