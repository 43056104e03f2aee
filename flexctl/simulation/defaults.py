"""Defaults of a run: numbers alone, read without compiled code."""

from __future__ import annotations

DEFAULT = 1e-2
"""Part of the range of an output that its error may be."""
MEMORY = 0.1
"""Time [s] in which the feedback of a sampled law corrects an error."""
CLAIM = 0.1
"""No error below this part of rtol is claimed where no local error tells all: the first step after a jump of a force
hides what it skips, and under a sampled law Newton leaves about as much, all of it together (`run.SLACK`)."""
SUMMED = 0.02
"""The same where nothing jumps, or a run is compared with one in which Newton leaves as much. Fitted: of 262
displacements under continuous laws 99 % are covered without it, and all from 0.003 on; at small tolerances fewer."""
COMPARED = 0.01
"""The same where a second run tells at a finer tolerance. Chosen: what both leave alike is below."""
SEES = 1.0e-3 * (1.0 + 1e-9)
"""Longest steps [s] of a run that one in other steps can tell the error of: longer ones both miss what swings fast (5
and 2.5 ms: links were 13 % off, 0.3 % was claimed; `test_within.py` has that run)."""
LEAST_RTOL = 1e-6
"""No smaller tolerance is taken."""
