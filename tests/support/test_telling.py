"""What a search says on the error stream while it lasts."""

from __future__ import annotations

import io
import time

import pytest

from flexctl.support import telling as module
from flexctl.support.telling import CLEAR, telling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    for key in ("AFTER", "OFTEN", "SELDOM"):
        monkeypatch.setattr(module, key, 0.02)
    with telling(None, "searching", "best {:.3f}".format) as report:
        report(0.25)
        time.sleep(0.15)
    told = stream.getvalue()
    assert "searching: best 0.250 (0 s)" in told
    assert told.endswith(CLEAR if terminal else "\n")


def test_what_is_soon_done_or_told_otherwise_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, calls = io.StringIO(), []
    monkeypatch.setattr("sys.stderr", stream)
    for progress in (None, False, calls.append):
        with telling(progress, "searching", "{}".format) as report:
            report(1)
    assert (stream.getvalue(), calls) == ("", [1])
