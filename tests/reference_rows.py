"""Rows of reference tables: a number of an independent code, ours, how far that may be off; printed and asserted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np


class Row(NamedTuple):
    """A number: the page's, ours, and the part of it (of `scale`, if that is given) it may be off."""

    what: str
    page: complex
    ours: complex
    allowed: float
    scale: float = 0.0
    most: bool = False
    """Whether the page's number is the most that ours may be."""

    @property
    def off(self) -> float:
        """Return the difference as a part of the number, or of the scale."""
        if self.most and self.ours.real <= self.page.real:
            return 0.0
        return abs(self.ours - self.page) / (self.scale or abs(self.page))


def numbers(what: str, page: Any, ours: Any, allowed: float, scale: float = 0.0) -> list[Row]:
    return [Row(what, complex(p), complex(x), allowed, scale) for p, x in zip(page, np.atleast_1d(ours), strict=True)]


def assert_rows(rows: Callable[[], Iterator[Row]]) -> None:
    """Print the rows as a table, and assert them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = list(rows())
    print()
    for row in table:
        both = complex(row.page), complex(row.ours)
        page, ours = (f"{x.real:.10g}" + (f"{x.imag:+.10g}j" if x.imag else "") for x in both)
        print(f"| {row.what} | {'at most ' * row.most}{page} | {ours} | {row.off:.1e} | {row.allowed:.0e} |")
    wrong = [row for row in table if not row.off <= row.allowed]
    assert not wrong, wrong
