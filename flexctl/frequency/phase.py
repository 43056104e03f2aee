"""Phase that means something for undamped, non-collocated and rigid plants.

The phase of H(j omega) is followed continuously along s = (j + eps) omega, slightly right of the axis: the limit of
vanishing damping. An undamped pole then turns it by -180 degrees and an undamped zero by +180, a zero in the right half
plane loses phase smoothly, and a double integrator starts at -180. The path begins on the positive real axis, where H
is real, and reaches the imaginary axis on a small arc below all poles; a negative sign there counts as -180, or as +180
where that leaves the clearly smaller phase on the axis. The response itself fixes the value; the path only chooses the
turn.
"""

from __future__ import annotations

import math

import numpy as np

from ..model import ComplexArray, FloatArray
from .evaluate import Transfer, axis

_ASIDE = (
    1e-5  # zeros and poles less than this to the right of the axis, in parts of their frequency, count as left of it
)
_TURN = 0.6  # largest turn between points of the path [rad]


def followed(evaluate: Transfer, omega: FloatArray, response: ComplexArray, corners: FloatArray) -> FloatArray:
    """Return the phase [deg] of the response, same shape.

    Parameters
    ----------
    evaluate : callable
        s -> H(s), (outputs, inputs, len(s)), for s right of the axis.
    omega : ndarray
        Frequencies, ascending [rad/s].
    response : ndarray
        H(j omega), (outputs, inputs, len(omega)).
    corners : ndarray
        Magnitudes of known poles [rad/s]: the path begins below them and does not step over them.
    """
    flat = response.reshape(-1, omega.size)
    if not omega.size:
        return np.zeros(response.shape)
    low = 1e-2 * min(float(omega[omega > 0.0].min(initial=1.0)), float(corners.min(initial=math.inf)))
    inner = corners[corners < 1.1 * omega[-1]]
    path = np.unique(
        np.concatenate([np.geomspace(low, max(low, omega[-1]), 200), omega, 0.97 * inner, inner, 1.03 * inner])
    )
    path = path[path >= low]
    live = np.any(flat != 0.0, axis=1)  # the phase of a channel that is zero would be followed through rounding

    def rows(s: ComplexArray) -> ComplexArray:
        return evaluate(s).reshape(live.size, -1)[live]

    path, angle = _unwrapped(rows, path)
    angle += _start(rows, low) - angle[:, :1]
    at = np.searchsorted(path, np.maximum(omega, low))
    tracked = np.zeros(flat.shape)
    tracked[live] = angle[:, at]
    with np.errstate(invalid="ignore"):
        own = np.angle(flat)
    usable = np.isfinite(own) & (flat != 0.0) & np.isfinite(flat)
    phase = np.where(usable, own + 2.0 * math.pi * np.round((tracked - own) / (2.0 * math.pi)), tracked)
    return np.degrees(phase).reshape(response.shape)


def _unwrapped(evaluate: Transfer, path: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the path, refined where the phase turns fast, and the continuous phase on it [rad]."""
    beside = 1.0 - 1j * _ASIDE  # j omega times this is (j + eps) omega
    H = _flat(evaluate(axis(path) * beside))
    for _ in range(60):
        turn = np.abs(np.angle(H[:, 1:] * H[:, :-1].conj()))
        split = np.any(turn > _TURN, axis=0) & (np.diff(path) > 1e-3 * _ASIDE * path[1:])
        if not split.any() or path.size > 200_000:
            break
        fresh = 0.5 * (path[:-1] + path[1:])[split]
        path, H = np.concatenate([path, fresh]), np.concatenate([H, _flat(evaluate(axis(fresh) * beside))], axis=1)
        order = np.argsort(path)
        path, H = path[order], H[:, order]
    return path, np.unwrap(np.angle(H), axis=1)


def _start(evaluate: Transfer, omega: float) -> FloatArray:
    """Return the phase at (j + eps) omega reached from the positive real axis [rad], one row per channel."""
    arc = np.exp(1j * np.linspace(0.0, 1.0, 65) * np.angle(1j + _ASIDE))
    H = _flat(evaluate(omega * abs(1j + _ASIDE) * arc))
    angle = np.unwrap(np.angle(H), axis=1)
    swept = angle[:, -1] - angle[:, 0]
    negative = H[:, 0].real < 0.0
    up, down = swept + math.pi, swept - math.pi
    turned = np.where(np.abs(up) < np.abs(down) - 0.25 * math.pi, up, down)
    return np.where(negative, turned, swept)[:, None]


def _flat(H: ComplexArray) -> ComplexArray:
    """Return one row per channel, scaled so that products of neighbours neither overflow nor vanish."""
    rows = H.reshape(-1, H.shape[-1])
    with np.errstate(invalid="ignore"):
        size = np.abs(rows)
        return np.where((size > 0.0) & np.isfinite(size), rows / np.where(size > 0.0, size, 1.0), 1.0)
