"""Driven joints around a model that brings compiled functions, without closures; see `driven` and `general`."""

from __future__ import annotations

from .driven import around_type, driven
from .general import FORM, OPEN
from .loops import loops
from .tables import BARE

LOOPS = loops(driven(OPEN), around_type(FORM), home=__name__, options=BARE)
