"""Linear plants in certificates, comparisons and sweeps: what is varied, and what is named as not examined."""

from __future__ import annotations

from pathlib import Path

import pytest

import flexctl as fx

SCRIPT = '''
"""A PD law for a plant of matrices."""
import flexctl as fx
PLANT = "plant.mat"
def design(plant):
    law = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), Dy=[[-1.0, -0.3]],
                       Dr=[[1.0, 0.3, 0.0]])
    return fx.Saturated(fx.Delayed(law, 1), 0.5)
def scenarios(plant):
    return [fx.Scenario("5 deg", fx.quintic(0.0, 0.0873, 0.3), 4.0)]
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("linear")
    arm = fx.load_plant("tokhi_azad_1994", model={"sections": 4}, damping={"kind": "modal", "ratio": 0.02})
    arm.linearise().save(place / "plant.mat")
    (place / "law.py").write_text(SCRIPT)
    return place


def certified(folder, plant=None, **more):
    return fx.certify(str(folder / "law.py"), plant, bits=(), workers=1, **more)


def test_a_certificate_of_a_linear_plant(folder) -> None:
    found = certified(folder, requirements={"linear_amplitude": 1.0, "mu": 1.0, "disk_margin": 0.1},
                      frequency=(-0.05, 0.05))
    verdicts = {v.name: v.word for v in found.verdicts}
    assert verdicts == {"stable": "met", "linear_amplitude": "NOT EXAMINED", "mu": "NOT EXAMINED", "disk_margin": "met",
                        "frequency_change": "met"}
    assert "payload" not in found.holds
    assert "the linear plant that was given" in found.holds
    told = " ".join(found.to_dict()["not_examined"])
    assert "payloads, weight and poses" in told
    assert "how far linear prediction and plant agree" in told
    assert "no payload" in found.bound
    # the loop at the worst frequency is that of the plant with these frequencies
    point = next(p for p in found.points if p.frequency == 0.05)
    moved = fx.load_plant(folder / "plant.mat", overrides={"modes.frequency_factor": 1.05})
    law = fx.load_controller(folder / "law.py").design(moved)
    exact = fx.margins(fx.loop_gain(moved, law)).disk_margin
    assert point.loop.smallest("disk_margin") == pytest.approx(exact, rel=1e-6)
    assert {key for p in found.dampings for key in p.values} == {
        "damping of all modes 0.1 %", "no damping of modes", "0.5 times the damping of modes",
        "2 times the damping of modes"}


@pytest.mark.slow
def test_ranges_of_modes_and_gains(folder) -> None:
    ranges = {"mode.1.damping": (0.001, 0.02), "input.joint1_torque.gain": (0.8, 1.2)}
    found = certified(folder, vary=ranges)
    assert next(v for v in found.verdicts if v.name == "vary").passed
    assert {key for p in found.varied for key in p.values} == set(ranges)
    wild = certified(folder, vary={"input.joint1_torque.gain": (-0.2, 1.0)})
    assert not next(v for v in wild.verdicts if v.name == "vary").passed


@pytest.mark.slow
def test_plants_in_python(folder) -> None:
    linear = fx.load_linear(folder / "plant.mat")
    script, lines = fx.load_controller(folder / "law.py"), []
    for plant in (linear, linear.first_order(), linear.discrete(1e-3), linear.statespace()):
        found = fx.certify(script.design(plant), plant, scenarios=script.scenarios(plant), bits=(), workers=1)
        lines.append(found.loops[0].margins["joint1_torque"].disk_margin)
        assert found.passed, str(found)
    assert lines == pytest.approx([lines[0]] * 4, rel=1e-6)


def test_what_only_an_arm_has_is_refused(folder) -> None:
    for more, message in (
        ({"payload": (0.0, 0.02)}, "is a linear plant, which has no payload"), ({"poses": [(0.1,)]}, "has no poses"),
        ({"vary": {"payload.mass": (0.0, 0.1)}}, 'unknown override of plant, a linear plant, "payload.mass"'),
        ({"model": "finite_segment"}, "no other model"),
    ):
        with pytest.raises(fx.FlexctlError, match=message):
            certified(folder, **more)
    plant = fx.load_plant(folder / "plant.mat")
    for call in (
        lambda: plant.arm, lambda: fx.ExactBeam(plant), lambda: fx.TransferMatrixArm(plant),
        lambda: fx.linear_validity(plant, {"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.3),
        lambda: fx.inverse_dynamics(plant, {"joint1": fx.quintic(0.0, 1.0, 0.5)}, duration=0.5),
        lambda: plant.with_(model="finite_segment"),
    ):
        with pytest.raises(fx.FlexctlError, match=r"linear plant|LinearSystem|no rigid arm"):
            call()


def test_sweeps_and_comparisons(folder) -> None:
    table = fx.sweep(folder / "law.py", folder / "plant.mat", workers=1, linear=True,
                     over={"mode.1.damping": [0.001, 0.02], "input.joint1_torque.gain": [0.8, 1.0]})
    assert table["status"] == ["ok"] * 4
    margin = [float(x) for x in table[next(c for c in table.columns if "disk_margin" in c)]]
    assert margin[0] != margin[1]
    (folder / "other.py").write_text(SCRIPT.replace("-0.3]]", "-0.4]]"))
    found = fx.compare([folder / "law.py", folder / "other.py"], [folder / "plant.mat"], workers=1)
    assert [run.failure for run in found.runs] == ["", ""]
    assert found.runs[0].disk_margin != found.runs[1].disk_margin
    with pytest.raises(fx.NotAvailable, match=r"is in no file: save it"):
        fx.sweep(folder / "law.py", fx.load_linear(folder / "plant.mat"), over={"mode.1.damping": [0.01]}, workers=1)
