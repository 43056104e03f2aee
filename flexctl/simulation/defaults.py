"""Defaults of a run: numbers alone, read without compiled code."""

from __future__ import annotations

DEFAULT = 1e-2
"""Part of the range of an output that its error may be."""
MEMORY = 0.1
"""Time [s] in which the feedback of a sampled law corrects an error."""
CLAIM = 0.1
"""No error below this part of rtol is claimed of a sampled loop by its sums: what Newton leaves is no more, all of it
together (`run.SLACK`), and no local error tells it."""
SUMMED = 0.02
"""The same where no law is sampled: rests are far below what is allowed then. Fitted: of 416 displacements of unseen
runs 98 % are covered so, 94 % without."""
COMPARED = 0.01
"""The same where a second run tells, which leaves something else. Chosen: what both leave alike is below."""
SEES = 1.0e-3 * (1.0 + 1e-9)
"""Longest steps [s] of a run that one in other steps can tell the error of: longer ones both miss what swings fast (5
and 2.5 ms: links were 13 % off, 0.3 % was claimed; `test_within.py` has that run)."""
LEAST_RTOL = 1e-6
"""No smaller tolerance is taken."""
