"""The command line: `flexctl ...` or `python -m flexctl ...`."""

from __future__ import annotations

from .cli import bode, cli, common, demo, linear, runs, show, simulate

__all__ = ["bode", "cli", "demo", "linear", "main", "runs", "show", "simulate"]


def main() -> None:
    """Run the command that the process was started with."""
    common.end_as_interrupt()
    common.accept_any_encoding()
    cli.main()


if __name__ == "__main__":
    main()
