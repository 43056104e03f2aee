"""How far a response that is interpolated between its lines may be off: each line is guessed from its two neighbours.

The log of a gain is taken as linear in the log of the frequency. Where it is curved by c, an interval of width h is off
by at most c h^2 / 8, and a line that is guessed from neighbours at distances a and b by c a b / 2: the lines
themselves tell the curvature. What their noise adds to it is taken off, over some lines together.
"""

from __future__ import annotations

import numpy as np

from ..model import ComplexArray, FloatArray

TOGETHER = 3
"""Lines over which curvature is averaged where the lines have noise."""


def off_between(place: FloatArray, log_gain: ComplexArray, noise: FloatArray | None) -> FloatArray:
    """Return the largest relative error of interpolation in each interval, (.., lines - 1).

    Parameters
    ----------
    place : ndarray
        Where the lines are, log omega.
    log_gain : ndarray
        Log of the gains, its imaginary part the unwrapped phase [rad], (.., lines).
    noise : ndarray or None
        Standard deviation of every gain as a part of it, None where it is not known.
    """
    width = np.diff(place)
    if place.size < 3:
        return np.full((*log_gain.shape[:-1], width.size), np.nan)
    before, after = width[:-1], width[1:]
    part = before / (before + after)
    guess = (1.0 - part) * log_gain[..., :-2] + part * log_gain[..., 2:]
    squared = np.abs(log_gain[..., 1:-1] - guess) ** 2
    if noise is not None:
        expected = noise[..., 1:-1] ** 2 + ((1.0 - part) * noise[..., :-2]) ** 2 + (part * noise[..., 2:]) ** 2
        squared = np.maximum(_averaged(squared - expected), 0.0)
    curved = 2.0 * np.sqrt(squared) / (before * after)
    ends = np.concatenate([curved[..., :1], curved, curved[..., -1:]], axis=-1)
    return np.asarray(width**2 / 8.0 * np.maximum(ends[..., :-1], ends[..., 1:]))


def _averaged(values: FloatArray) -> FloatArray:
    """Return means over neighbours along the last axis, over fewer of them at its ends."""
    ones = np.ones(min(TOGETHER, values.shape[-1]))
    flat = values.reshape(-1, values.shape[-1])
    count = np.convolve(np.ones(flat.shape[1]), ones, "same")
    return np.array([np.convolve(row, ones, "same") / count for row in flat]).reshape(values.shape)
