"""Figures that identification has to reach beside flexctl's: `pytest -m "" -s` prints them; see `reference_rows`.

Those of a record with dry friction and delay are held by `test_grey_box.test_the_held_out_arm`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from one_link import FREE, TRUE
from reference_rows import Row, assert_rows
from test_grey_box import KEYS, OFF, response
from test_modal import noisy, plant

import flexctl as fx
from flexctl import identify

pytestmark = pytest.mark.slow
SEEDS = 10


def modal(folder: Path) -> Iterator[Row]:
    """Modes of a hub angle, a strain and an acceleration on 3591 lines with 1 % of noise."""
    system, lines = plant(5), 2 * np.pi * np.linspace(0.5, 180, 3591)
    modes = system.modes()
    found = [identify.modal(noisy(system, lines, seed), most=7) for seed in range(SEEDS)]
    off = np.array([x.frequencies_hz / modes.frequencies_hz - 1.0 for x in found])
    less = np.array([x.damping / modes.damping - 1.0 for x in found])
    yield Row("modal, 10 seeds: frequency, largest error", 1e-4, np.abs(off).max(), 0.0, most=True)
    yield Row("modal, 10 seeds: frequency, rms error", 1e-4, np.sqrt(np.mean(off**2, axis=0)).max(), 0.0, most=True)
    yield Row("modal, 10 seeds: damping, largest error", 1e-2, np.abs(less).max(), 0.0, most=True)
    yield Row("modal, 10 seeds: chi^2", 1.0, np.mean([x.chi2 for x in found]), 0.02)


def grey_box(folder: Path) -> Iterator[Row]:
    """Five parameters from 600 lines with 1 % of noise."""
    arm, errors, ratios = fx.load_plant(folder / "free.toml"), [], []
    for seed in range(SEEDS):
        start = {key: OFF[key] for key in KEYS}
        found = identify.parameters(arm, response(arm, seed), KEYS, start=start, delay=0, mesh=False)
        errors.append([found.values[key] / TRUE[key] - 1.0 for key in KEYS])
        ratios.append([(found.values[key] - TRUE[key]) / found.sigma[key] for key in KEYS])
    rms = np.sqrt(np.mean(np.square(errors), axis=0))
    limits = {"youngs_modulus": 1e-4, "hub_inertia": 5e-4, "mass": 1e-3, "friction": 1e-2, "ratio": 5e-3}
    for key, x in zip(KEYS, rms, strict=True):
        yield Row(f"grey box, 10 seeds: {key}, rms error", limits[key.rsplit(".", 1)[1]], x, 0.0, most=True)
    yield Row("grey box, 10 seeds: error by sigma, rms", 1.0, np.sqrt(np.mean(np.square(ratios))), 0.25)


def excitation(folder: Path) -> Iterator[Row]:
    drive = identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=0.12, period=4.096, periods=3)
    yield Row("multisine: crest factor", 1.5, drive.crest, 0.0, most=True)


@pytest.mark.parametrize("rows", [modal, grey_box, excitation], ids=lambda f: f.__name__)
def test_the_figures(rows: Any, tmp_path: Path) -> None:
    (tmp_path / "free.toml").write_text(FREE)
    assert_rows(lambda: rows(tmp_path))
