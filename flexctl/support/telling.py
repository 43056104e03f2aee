"""How far a search has come, told on the error stream: what takes more than a second does not run in silence.

On a terminal a line that changes, from the first second on, which is gone in the end; elsewhere (a log, a notebook) a
line of its own every ten seconds. Worker processes say nothing.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AFTER, OFTEN, SELDOM = 1.0, 0.5, 10.0
"""Seconds before anything is said, and between two lines on a terminal and elsewhere."""
CLEAR = "\r\x1b[2K"
Told = bool | Callable[..., None] | None


@contextmanager
def telling(progress: Told, what: str, words: Callable[..., str]) -> Iterator[Callable[..., None]]:
    """Yield what a search calls with its numbers.

    Parameters
    ----------
    progress : bool or callable, optional
        A function is called with the numbers and nothing is printed; None: said after a second; True: at once; False:
        never.
    what : str
        What is being done.
    words : callable
        Turns the numbers into words.
    """
    if callable(progress):
        yield progress
        return
    if progress is False or sys.stderr is None or multiprocessing.parent_process() is not None:
        yield lambda *numbers: None
        return
    line = _Line(what, at_once=bool(progress))
    line.start()
    try:
        yield lambda *numbers: line.say(words(*numbers))
    finally:
        line.end()


class _Line(threading.Thread):
    """The line on the error stream, with the time that it has taken."""

    def __init__(self, what: str, at_once: bool) -> None:
        super().__init__(daemon=True)
        self.stream: Any = sys.stderr
        self.live = bool(self.stream.isatty())
        self.pause = OFTEN if self.live else SELDOM
        self.first = 0.0 if at_once else AFTER if self.live else SELDOM
        self.what, self.text, self.begun, self.over = what, "", time.monotonic(), threading.Event()

    def say(self, text: str) -> None:
        """Keep what is to be told."""
        self.text = f": {text}"

    def run(self) -> None:
        """Tell it from time to time."""
        wait = self.first
        while not self.over.wait(wait):
            told = f"{self.what}{self.text} ({time.monotonic() - self.begun:.0f} s)"
            self.stream.write(f"{CLEAR}{told}" if self.live else f"{told}\n")
            self.stream.flush()
            wait = self.pause

    def end(self) -> None:
        """Take the line away."""
        self.over.set()
        self.join()
        if self.live:
            self.stream.write(CLEAR)
            self.stream.flush()
