"""Natural frequencies and damping ratios of what was found in measurements, from its poles."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..model import ComplexArray, FloatArray


class _Found(Protocol):
    @property
    def poles(self) -> ComplexArray: ...


class WithPoles:
    """A result that has `poles` in continuous time [rad/s], one of each pair."""

    @property
    def frequencies_hz(self: _Found) -> FloatArray:
        """Natural frequencies |p| / 2 pi [Hz]."""
        return np.asarray(np.abs(self.poles) / (2.0 * np.pi))

    @property
    def damping(self: _Found) -> FloatArray:
        """Damping ratios."""
        return np.asarray(-self.poles.real / np.maximum(np.abs(self.poles), 1e-300))
