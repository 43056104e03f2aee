"""What single precision costs: the bound is above what is measured, and is the closed form where there is one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.export.mirror import Mirror
from flexctl.export.precision import ROUNDING, _errors, _gamma, _Largest, _Loop
from flexctl.export.program import Units, program_of
from flexctl.export.sampled import Sampling

DAMPED = {"model.sections": 8, "damping.kind": "modal", "damping.ratio": 0.01}


def program(law: Any) -> Any:
    return program_of(law, Units({}, {}), Sampling(), None, None)


def test_gains_of_a_first_order_loop_are_those_of_its_closed_form() -> None:
    """x+ = x + u, u = -k y: an error e of the command gives u = -k x + e; the sum of |u| is 1 + k/(1 - (1 - k)) = 2."""
    k, period = 0.25, 1e-3
    law = fx.LinearLaw(period, ("y",), ("u",), Dy=[[-k]])
    plant = fx.from_matrices(A=[[1.0]], B=[[1.0]], C=[[1.0]], inputs=["u"], outputs=["y"], dt=period)
    loop = _Loop(program(law), plant)
    assert loop.radius == pytest.approx(1.0 - k)
    sums, peaks = loop.gains()
    np.testing.assert_allclose(sums[0], [2.0, 2.0 * k], rtol=1e-7)
    np.testing.assert_allclose(sums[1], [1.0 / k, 1.0], rtol=1e-7)
    np.testing.assert_allclose(peaks[0], [1.0, k])


@pytest.mark.parametrize("delay", [1, 2])
def test_the_delayed_loop_is_that_of_the_certificate(delay: int) -> None:
    arm = fx.load_plant("tokhi_azad_1994", overrides=DAMPED)
    design = fx.load_controller("tokhi_azad_lqg").design(arm)
    law = fx.Delayed(design.law.law, delay)
    plant = design.plant.first_order()
    loop = _Loop(program(law), fx.zero_order_hold(plant, 1e-3))
    wanted = fx.loop_poles(plant, law.feedback())
    assert loop.radius == pytest.approx(np.exp(wanted.real.max() * 1e-3), rel=1e-6)


def test_rounding_in_one_period_stays_below_its_bound() -> None:
    rng = np.random.default_rng(4)
    law = fx.LinearLaw(
        1e-3, ("y",), ("u",), A=rng.uniform(-0.3, 0.3, (5, 5)), By=rng.uniform(-1, 1, (5, 1)),
        C=rng.uniform(-1, 1, (1, 5)), Dy=[[0.7]],
    )
    of = program(law)
    plant = fx.from_matrices(A=[[0.5]], B=[[0.0]], C=[[1.0]], inputs=["u"], outputs=["y"], dt=1e-3)
    loop = _Loop(of, plant)
    exact, single = Mirror(of), Mirror(of, np.float32)
    used = []
    for _ in range(300):
        x, y = rng.uniform(-1, 1, 5).astype(np.float32), rng.uniform(-1, 1, 1)
        exact.x, single.x = [x.astype(float)], [x]
        u, v = exact.step(0, y, np.zeros(0)), single.step(0, y, np.zeros(0))
        met = _Largest(np.abs(y), np.zeros(0), np.abs(x).astype(float), np.abs(u))
        each, _ = _errors(of, met, loop, np.zeros(len(loop.names) + 5))
        bound = each[5] + abs(law.Dy[0, 0]) * each[6]
        assert abs(v[0] - u[0]) <= bound
        assert np.all(np.abs(single.x[0] - exact.x[0]) <= each[:5] + np.abs(law.By[:, 0]) * each[6])
        used.append(abs(v[0] - u[0]) / bound)
    assert max(used) > 0.05  # of the size of what happens
    assert _gamma(6) == pytest.approx(8 * ROUNDING, rel=1e-6)


def test_the_bound_is_above_what_a_run_shows() -> None:
    arm = fx.load_plant("tokhi_azad_1994", overrides=DAMPED)
    law = fx.load_controller("tokhi_azad_lqg").design(arm).law
    bounds = []
    for one in (law, fx.Quantised(law, {"joint1_angle": 1e-4})):
        found = fx.single_precision(one, arm, fx.Scenario("move", fx.quintic(0.0, 0.05, 0.4), 0.6))
        assert found.unbounded == ""
        for lost in found.signals.values():
            assert 0.0 < lost.measured < lost.bound
        bounds.append(found.signals["joint1_torque"].bound)
        angles = found.signals["joint1_angle"].bound + found.signals["chord1_angle"].bound
        assert found.signals["tip_x"].bound == pytest.approx(0.96 * found.signals["chord1_angle"].bound, rel=1e-12)
        assert found.signals["tip_error_x"].bound == pytest.approx(0.96 * angles, rel=1e-12)
    assert bounds[1] > 30.0 * bounds[0]  # single precision may read the neighbour of a quantum


def test_an_output_that_is_level_at_rest_has_no_bound() -> None:
    """A straight arm of planar beams: its linear plant says that tip_x does not move at all, and it does."""
    plant = fx.load_plant("tokhi_azad_1994", overrides=DAMPED)
    law, arm = fx.load_controller("tokhi_azad_pd").design(plant), plant.with_(model="timoshenko_planar")
    found = fx.single_precision(law, arm, fx.Scenario("move", fx.quintic(0.0, 0.02, 0.4), 0.4))
    assert found.unbounded == ""
    assert math.isnan(found.signals["tip_x"].bound)
    assert found.signals["tip_x"].measured > 0.0
    assert found.to_dict()["signals"]["tip_x"]["bound"] is None
    assert found.signals["tip_y"].measured < found.signals["tip_y"].bound < 1e-3


def test_where_there_is_no_bound_the_reason_is_told() -> None:
    arm = fx.load_plant("tokhi_azad_1994", overrides=DAMPED)
    law = fx.load_controller("tokhi_azad_lqg").design(arm)
    found = fx.single_precision(law, arm, fx.Scenario("hard", fx.quintic(0.0, 0.8, 0.3), 0.6))
    assert "at a limit in" in found.unbounded
    assert math.isnan(found.signals["joint1_torque"].bound)
    assert found.to_dict()["signals"]["joint1_torque"]["bound"] is None
    with pytest.raises(fx.NotAvailable, match="continuous"):
        fx.single_precision(fx.LinearLaw(0.0, ("joint1_angle",), ("joint1_torque",), Dy=[[-1.0]]), arm,
                            fx.Scenario("move", fx.quintic(0.0, 0.05, 0.4), 0.6))


@pytest.mark.slow
def test_certify_tells_it(tmp_path: Path) -> None:
    words = ["certify", "tokhi_azad_pd", "--float32", "--workers", "1", "--payload", "0,10g", "--json"]
    done = CliRunner().invoke(cli, [*words, "-o", str(tmp_path / "pd.json")])
    told = json.loads(done.stdout)
    assert json.loads((tmp_path / "pd.json").read_text()) == told
    torque = told["float32"]["signals"]["joint1_torque"]
    assert 0.0 < torque["measured"] < torque["bound"] < 1e-2 * torque["largest"]
    made = fx.export_law("tokhi_azad_pd", tmp_path / "out", certificate=tmp_path / "pd.json", test_steps=20)
    assert f"certificate: {'passed' if told['passed'] else 'NOT PASSED'}: " in (made.folder / "README.md").read_text()
    with pytest.raises(fx.DefinitionError, match="another controller: tokhi_azad_pd, here tokhi_azad_lqg"):
        fx.export_law("tokhi_azad_lqg", tmp_path / "other", certificate=tmp_path / "pd.json")
