"""Defaults of a run: numbers alone, read without compiled code."""

from __future__ import annotations

DEFAULT = 1e-2
"""Part of the range of an output that its error may be."""
MEMORY = 0.1
"""Time [s] in which the feedback of a sampled law corrects an error."""
CLAIM = 0.1
"""No error below this part of rtol is claimed."""
LEAST_RTOL = 1e-6
"""No smaller tolerance is taken."""
