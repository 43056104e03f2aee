"""How far the linear plant tells the truth, with a law and without one."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from toys import Crane

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.judging.certify import runs
from flexctl.judging.validity import LinearValidity, compared
from flexctl.model import LinearMechanics
from flexctl.motion.moves import quintic

PULSE = fx.bang_bang(1.0, 0.2)


def coarse(**options) -> fx.Plant:
    return fx.load_plant("planar_2r_flexible", overrides={"model.elements": 3}, **options)


def test_an_open_crane_parts_as_the_square_of_the_amplitude():
    """It is odd in its coordinates: the deviation of every output is cubic in the move, quadratic in parts of it."""
    found = fx.linear_validity(Crane(), {"force": PULSE}, duration=1.5, amplitudes=(2.0, 1.0, 0.5), step=5e-3)
    assert list(found.amplitudes) == [0.5, 1.0, 2.0]
    assert set(found.outputs) == {s.name for s in Crane().outputs}
    for name, off in found.outputs.items():
        assert np.log2(off[1:] / off[:-1]) == pytest.approx([2.0, 2.0], abs=0.02), name
    assert found.deviation == pytest.approx(np.max([*found.outputs.values()], axis=0))
    assert found.parting == min(found.partings.values())


def test_a_linear_arm_never_parts():
    arm = fx.load_plant("tokhi_azad_1994")
    assert isinstance(arm.model, LinearMechanics)
    found = fx.linear_validity(arm, {"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.4, amplitudes=(1.0, 100.0))
    bent = ["tip_x", "tip_y", "tip_error_x", "tip_error_y"]  # turn with the arm
    assert found.partings.keys() == {s.name for s in arm.model.outputs}
    assert all((factor < math.inf) == (name in bent) for name, factor in found.partings.items())
    assert max(off.max() for name, off in found.outputs.items() if name not in bent) < 1e-6


def test_what_is_predicted_to_stay_is_measured_by_the_largest_of_its_unit():
    """tip_x of the stretched arm moves with the square of the angle: half the angle in parts of tip_y."""
    found = fx.linear_validity(coarse(), {"joint1_torque": PULSE}, duration=0.3, amplitudes=(0.1, 0.2, 20.0))
    off = found.outputs["tip_x"]
    assert off[1] == pytest.approx(2.0 * off[0], rel=0.05)
    assert found.outputs["joint1_angle"][0] < 0.1 * off[0]
    assert found.partings["tip_x"] < found.partings["joint1_angle"]


def test_a_point_under_gravity_starts_at_rest_there():
    """Small signals about an equilibrium are predicted: the torques that hold the arm go on."""
    arm = fx.load_plant("planar_2r_flexible", overrides={"model.elements": 3, "gravity.y": -9.81})
    guess = arm.model.pose([0.3, 0.5])
    point = fx.equilibrium(arm.model, hold={"joint1": 0.3, "joint2": 0.5}, guess=guess)
    found = fx.linear_validity(arm, {"joint1_torque": PULSE}, duration=0.5, at=point, amplitudes=(1e-3, 1e-2))
    # every output is judged, accelerations and strains too: they part as the amplitude, and joints and tip by little
    for name, (one, ten) in found.outputs.items():
        assert 6.0 * one < ten < 14.0 * one, name
        assert one < (2e-3 if name.startswith(("joint", "tip_x", "tip_y")) else 2e-2), name


def test_a_failed_run_parts_and_says_why():
    arm = coarse()
    found = fx.linear_validity(arm, {"joint1_torque": PULSE}, duration=0.3, amplitudes=(1.0, 1e7))
    assert np.isinf(found.deviation[1])
    assert "t =" in found.failures[1e7]
    assert "deviation inf" in str(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": {}}, "nothing moves"),
        ({"amplitudes": (0.0, 1.0)}, "must be positive"),
        ({"amplitudes": ()}, "must be positive"),
        ({"outputs": ["tip_xx"]}, "did you mean"),
        ({"inputs": {"joint1_torqe": PULSE}}, "did you mean"),
        ({"plant": coarse().linearise()}, "its own prediction"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    given = {"plant": coarse(), "inputs": {"joint1_torque": PULSE}, "duration": 0.1, **options}
    with pytest.raises(fx.DefinitionError, match=message):
        fx.linear_validity(given.pop("plant"), given.pop("inputs"), **given)


def test_jumps_are_not_smeared():
    """Accelerations jump with the torque; runs on other grids are compared at the common times."""
    a, b = (response(np.linspace(0.0, 1.0, n)) for n in (11, 101))
    scaling = runs.Scaling(1.0, b, "")
    assert compared(a, [scaling], ["x"]).deviation[0] == 0.0


def response(t: np.ndarray) -> fx.Response:
    from flexctl.simulation.response import Response

    y = np.where(t < 0.55, 0.0, 1.0)[:, None]
    return Response(t, y, np.zeros((t.size, 0)), np.zeros((t.size, 0)), (fx.Signal("x", "m"),), ())


class Swinging:
    """A crane in the role of a plant."""

    name, model = "crane", Crane()

    def linearise(self, at: fx.OperatingPoint | None = None) -> fx.SecondOrder:
        return fx.linearise(self.model, at)


def test_with_a_law_every_measured_or_scored_output_counts():
    """The law follows the cart alone, and reads its rate: both are judged, and the swing where it has a reference."""
    gains = {"Dy": [[-40.0, -20.0]], "Dr": [[40.0, 20.0, 0.0]]}
    pd = fx.LinearLaw(5e-3, ("cart", "cart_rate"), ("force",), ("cart",), **gains)
    move = quintic(0.0, 0.5, 0.6)
    for swing in (False, True):
        reference = {"cart": move, **({"swing": quintic(0.0, 1e-9, 0.6)} if swing else {})}
        item = fx.Scenario("move", reference, 2.0, options={"step": 5e-3})
        prediction = runs.predicted(Swinging(), pd, item)
        found = runs.validity(prediction, [runs.scaled_run(Swinging(), pd, item, a) for a in (0.5, 1.0)], pd)
        assert set(found.outputs) == {"cart", "cart_rate", *(["swing"] if swing else [])}
        assert found.to_dict()["outputs"].keys() == found.outputs.keys()


def test_command():
    words = ["validity", "planar_2r_flexible", "--torque", "bang-bang:2,0.2", "--set", "model.elements=3"]
    words += ["--times", "0.1,10"]
    told = CliRunner().invoke(cli, words)
    assert told.exit_code == 0, told.output
    assert "tip_x" in told.stdout
    assert "differ by 5 % at" in told.stdout
    answer = json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)
    assert answer["amplitudes"] == [0.1, 10.0]
    assert answer["parting"] == min(x for x in answer["partings"].values() if x is not None)
    assert answer["plant"] == "planar_2r_flexible"
    nothing = CliRunner().invoke(cli, ["validity", "planar_2r_flexible"])
    assert nothing.exit_code == 2
    assert "nothing moves the arm" in nothing.stderr


def test_parting_of_single_outputs():
    a = np.array([0.5, 1.0, 2.0, 4.0])
    found = LinearValidity(a, a**2 / 100, np.zeros(4, bool), {"x": a**2 / 100, "y": 1e-9 * a})
    assert found.partings == {"x": pytest.approx(math.sqrt(5.0)), "y": math.inf}
    assert "x at 2.24 times the move" in str(found)
