"""Child processes of tests."""

from __future__ import annotations

import signal


def listening() -> None:
    """Let a child hear Ctrl-C although its parent does not: under nohup and in the background SIGINT is ignored.

    For `preexec_fn` of `subprocess.Popen`.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
