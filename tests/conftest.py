"""Settings of the whole suite: one BLAS thread, no windows, repeatable random tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # read when numpy is first imported
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("FLEXCTL_COMPILERS", "1")  # both processors test
HERE = Path(__file__).parent
# helpers at the top, and test files that share a fixture with another folder's
sys.path[:0] = [str(HERE), *sorted({str(path.parent) for path in HERE.rglob("test_*.py")})]

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

SLOW = {line for line in (HERE / "slow.txt").read_text().splitlines() if not line.startswith("#")}
"""Tests found slow by measurement; what is slow by its nature has the mark where it stands."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests."""
    for item in items:
        if item.nodeid in SLOW:
            item.add_marker(pytest.mark.slow)


# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
