"""A sampled law as C99 source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import NotAvailable

if TYPE_CHECKING:
    from . import Request, Written


def write(request: Request) -> Written:
    """Return the folder of a law as C code."""
    raise NotAvailable(f"C code of {request.name} is not written yet")
