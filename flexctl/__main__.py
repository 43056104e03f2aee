"""The command line: `flexctl ...` or `python -m flexctl ...`."""

from __future__ import annotations

import os

# Loops of a few dozen states gain nothing from several threads of linear algebra, and lose a factor of ten and more
# where other processes want the cores too. numpy reads this when it is first imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from .cli import (  # noqa: E402
    bode,
    certify,
    cli,
    common,
    compare,
    demo,
    doctor,
    experiment,
    export,
    identify,
    identify_responses,
    linear,
    margins,
    new,
    norms,
    runs,
    show,
    simulate,
    sweep,
    terminal,
    validity,
)

__all__ = [
    "bode", "certify", "cli", "compare", "demo", "doctor", "experiment", "export", "identify", "identify_responses",
    "linear", "main", "margins", "new", "norms",
    "runs", "show", "simulate", "sweep", "validity",
]


def main() -> None:
    """Run the command that the process was started with."""
    common.end_as_interrupt()
    terminal.accept_any_encoding()
    terminal.spell_out_warnings()
    cli.main()


if __name__ == "__main__":
    main()
