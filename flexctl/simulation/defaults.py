"""Defaults of a run: numbers alone, read without compiled code."""

from __future__ import annotations

DEFAULT = 1e-2
"""Part of the range of an output that its error may be."""
