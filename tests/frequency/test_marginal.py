"""Loops with a mode that neither grows nor decays: no verdict hangs on the sign of rounding."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli

LAW = '''"""A PD for the tests."""
import flexctl as fx


def design(plant):
    return fx.LinearLaw(PERIOD, ("y", "v"), ("u",), ("y",), Dy=[[-3.0, -1.2]], Dr=[[3.0, 1.2, 0.0]])
'''


def plant(seed: int, damping: float = 0.0) -> fx.SecondOrder:
    """Return a plant whose third mode no output sees, in coordinates that mix all."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    M, D, K = (Q @ np.diag(d) @ Q.T for d in ([1.0, 2.0, 0.5], [0.0, 0.3, damping], [0.0, 50.0, 300.0]))
    b = Q @ np.array([1.0, 0.5, 0.0])
    return fx.from_matrices(
        M, D, K, b[:, None], C=np.array([b, 0 * b]), Cv=np.array([0 * b, b]), inputs=["u"], outputs=["y", "v"]
    )


def pd(period: float) -> fx.LinearLaw:
    return fx.LinearLaw(period, ("y", "v"), ("u",), ("y",), Dy=[[-3.0, -1.2]], Dr=[[3.0, 1.2, 0.0]])


@pytest.mark.parametrize("period", [0.0, 0.004])
@pytest.mark.parametrize("seed", range(6))
def test_a_mode_that_goes_on_for_ever_is_marginal(period: float, seed: int) -> None:
    found = fx.margins(fx.loop_gain(plant(seed), pd(period)))
    assert found.stable is False
    assert found.state == "MARGINAL"
    assert "MARGINAL: these are distances, not margins" in str(found)
    damped = fx.margins(fx.loop_gain(plant(seed, 1e-4), pd(period)))
    assert (damped.stable, damped.state) == (True, "stable")


@pytest.mark.parametrize("period", [0.0, 0.004])
@pytest.mark.parametrize("seed", [0, 4])
def test_the_command_says_so(period: float, seed: int, tmp_path: Path) -> None:
    plant(seed).save(tmp_path / "plant.npz")
    (tmp_path / "law.py").write_text(LAW.replace("PERIOD", str(period)))
    words = ["margins", str(tmp_path / "law.py"), str(tmp_path / "plant.npz")]
    found = CliRunner().invoke(cli, [*words, "--json"])
    assert found.exit_code == 1
    told = json.loads(found.stdout)
    assert told["stable"] is False
    assert told["why_marginal"] == "a mode neither grows nor decays"
    assert told["margins"]["u"]["stable"] is False
    table = CliRunner().invoke(cli, words)
    assert "closed loop: MARGINAL, a mode neither grows nor decays" in table.stdout
