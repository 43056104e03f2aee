"""The resonance peaks of a response: looked for at the poles, confirmed on the response.

Local maxima of sampled values are no peaks: rounding between neighbours makes thousands. A peak belongs to a lightly
damped pole p. Around it, |H| is evaluated at Im p + k |Re p|, and again around the largest maximum that is nearer to no
other pole; a peak is there when that stands out by `VISIBLE` on both sides. An undamped pole is a peak without end in
a channel that grows tenfold as it is approached tenfold. Where no poles are known, maxima of the data count that stand
out as much, and six times as much as their noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model import ComplexArray, FloatArray
from .evaluate import Transfer, axis
from .grids import nothing

if TYPE_CHECKING:
    from . import FrequencyResponse

VISIBLE = 0.1  # dB
NOISE = 6.0  # standard deviations that a maximum of noisy data stands out
_UNDAMPED = 1e-6  # damping ratio below which a pole is approached, not crossed
_WINDOW = np.linspace(-4.0, 4.0, 65)
_APPROACH = np.array([1e-4, 1e-5])


class Peak(NamedTuple):
    """A resonance peak of one channel.

    Attributes
    ----------
    output, input : str
        The channel.
    frequency : float
        Where the gain is largest [rad/s].
    gain : complex
        H there; infinite for an undamped pole.
    prominence : float
        How far it stands out of its surroundings [dB].

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01})
    >>> peak = plant.frequency_response().peaks()[0]
    >>> print(peak.output, f"{peak.frequency:.2f}")
    joint1_angle 73.76
    """

    output: str
    input: str
    frequency: float
    gain: complex
    prominence: float


def find_peaks(response: FrequencyResponse) -> list[Peak]:
    """Return the peaks of every channel, channel by channel, by ascending frequency."""
    low, high = response.omega[0], response.omega[-1]
    evaluate, poles = response.evaluate, response.poles
    if evaluate is None or poles is None:
        found = _of_data(response)
    else:
        light = poles[(poles.imag > 0.0) & (np.abs(poles.real) < math.sqrt(0.5) * np.abs(poles))]
        light = light[(light.imag > 0.9 * low) & (light.imag < 1.5 * high)]
        light = light[np.argsort(light.imag)]
        found = [peak for k in range(light.size) for peak in _at_pole(evaluate, light, k, response)]
        found = _nearest(found, light)
    found = [p for p in found if low <= p.frequency <= high]
    order = {(o.name, i.name): k for k, (o, i) in enumerate((o, i) for o in response.outputs for i in response.inputs)}
    return sorted(found, key=lambda p: (order[p.output, p.input], p.frequency))


def _at_pole(evaluate: Transfer, poles: ComplexArray, number: int, response: FrequencyResponse) -> list[Peak]:
    centre, half = float(poles[number].imag), abs(float(poles[number].real))
    live = ~nothing(response.response.reshape(-1, response.omega.size), max(len(response.inputs), 1))
    if half < _UNDAMPED * centre:
        return _undamped(evaluate, centre, response, live)
    middle = math.sqrt(max(centre * centre - half * half, 0.0)) or centre
    at = middle + half * _WINDOW
    at = at[at > 0.0]
    own = np.argmin(np.abs(1j * at[:, None] - poles), axis=1) == number  # nearer to no other pole
    H = _flat(evaluate(axis(at)))
    found = []
    for k in np.flatnonzero(live):
        size = np.abs(H[k])
        inner = 1 + np.flatnonzero((size[1:-1] > size[:-2]) & (size[1:-1] >= size[2:]) & own[1:-1])
        if not inner.size or not np.isfinite(size).all():
            continue
        top = int(inner[np.argmax(size[inner])])
        prominence = _decibel(size[top]) - max(_decibel(side.min()) for side in (size[:top], size[top:]))
        if prominence < VISIBLE:
            continue
        omega, gain = _largest(evaluate, int(k), at[top - 1], at[top + 1])
        found.append(_peak(response, int(k), omega, gain, prominence))
    return found


def _largest(evaluate: Transfer, channel: int, low: float, high: float) -> tuple[float, complex]:
    """Return where the gain of a channel is largest between two frequencies, and H there."""
    for _ in range(2):
        at = np.linspace(low, high, 65)
        values = _flat(evaluate(axis(at)))[channel]
        best = int(np.argmax(np.abs(values)))
        low, high = at[max(best - 1, 0)], at[min(best + 1, at.size - 1)]
    return float(at[best]), complex(values[best])


def _undamped(
    evaluate: Transfer, centre: float, response: FrequencyResponse, live: npt.NDArray[np.bool_]
) -> list[Peak]:
    """Return the channels that grow as the inverse of the distance on both sides."""
    near = np.concatenate([1.0 - _APPROACH, 1.0 + _APPROACH])
    size = np.abs(_flat(evaluate(axis(centre * near))))
    with np.errstate(all="ignore"):
        grows = (size[:, 1] > 5.0 * size[:, 0]) & (size[:, 3] > 5.0 * size[:, 2])
    return [_peak(response, int(k), centre, complex(math.inf), math.inf) for k in np.flatnonzero(grows & live)]


def _nearest(found: list[Peak], poles: ComplexArray) -> list[Peak]:
    """Return each peak once: two poles close to each other see the same one."""
    kept: dict[tuple[str, str], list[Peak]] = {}
    width = np.maximum(np.abs(poles.real), _UNDAMPED * poles.imag)
    for peak in sorted(found, key=lambda p: -p.prominence):
        beside = kept.setdefault((peak.output, peak.input), [])
        reach = 0.3 * float(width[np.argmin(np.abs(poles.imag - peak.frequency))])
        if all(abs(peak.frequency - other.frequency) > reach for other in beside):
            beside.append(peak)
    return [peak for peaks in kept.values() for peak in peaks]


def _of_data(response: FrequencyResponse) -> list[Peak]:
    """Return the maxima of the data that stand out."""
    from scipy.signal import find_peaks as maxima

    found = []
    decibel = response.magnitude_db().reshape(-1, response.omega.size)
    H = _flat(response.response)
    noise = _noise_in_decibel(response)
    for k, values in enumerate(decibel):
        finite = np.isfinite(values)
        if not finite.any():
            continue
        values = np.where(finite, values, values[finite].min())
        at, told = maxima(values, prominence=np.maximum(VISIBLE, NOISE * noise[k]))
        for i, prominence in zip(at, told["prominences"], strict=True):
            found.append(_peak(response, k, float(response.omega[i]), complex(H[k, i]), float(prominence)))
    return found


def _noise_in_decibel(response: FrequencyResponse) -> FloatArray:
    """Return the standard deviation of every magnitude [dB], (channels, lines); zero where it is not known."""
    shape = (len(response.outputs) * len(response.inputs), response.omega.size)
    if response.sigma is None or response.sigma.size == 0:
        return np.zeros(shape)
    size = np.maximum(np.abs(response.response), 1e-300)  # half of the variance lies along the gain
    part = np.nan_to_num(np.asarray(response.sigma, float), nan=0.0) / size / math.sqrt(2.0)
    return np.asarray(20.0 / math.log(10.0) * part.reshape(shape))


def _peak(response: FrequencyResponse, channel: int, omega: float, gain: complex, prominence: float) -> Peak:
    i, j = divmod(channel, len(response.inputs))
    return Peak(response.outputs[i].name, response.inputs[j].name, omega, gain, prominence)


def _flat(H: ComplexArray) -> ComplexArray:
    return H.reshape(-1, H.shape[-1])


def _decibel(gain: float) -> float:
    return 20.0 * math.log10(gain) if gain > 0.0 else -math.inf
