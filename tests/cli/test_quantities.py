"""Numbers with units on the command line: one parser, nothing taken for what it cannot be."""

from __future__ import annotations

import json
import math
import re

import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.catalogue.definition import TABLES
from flexctl.cli import certify, specs, sweep
from flexctl.cli.quantities import FACTORS, between, has_unit, key_unit, quantities, quantity, setting
from flexctl.judging.sweep import Span
from flexctl.machine.schema import Ascending, Quantity, schema


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("60deg", "rad", math.pi / 3), ("60°", "rad", math.pi / 3), ("1.05 rad", "rad", 1.05), ("0.3", "rad", 0.3),
        ("20g", "kg", 0.02), ("20 kg", "kg", 20.0), ("5mm", "m", 5e-3), ("0.3 N m", "N m", 0.3), ("30Ncm", "N m", 0.3),
        ("250ms", "s", 0.25), ("-5%", "1", -0.05), ("10rad/s", "Hz", 10 / (2 * math.pi)), ("2g", "m/s^2", 19.6133),
        ("70GPa", "Pa", 7e10), ("3 kg cm^2", "kg m^2", 3e-4), ("5e-9m^4", "m^4", 5e-9), ("12mm^2", "m^2", 12e-6),
        ("45deg", "deg", 45.0), ("1rad", "deg", 180 / math.pi), ("40 N m/rad", "N m/rad", 40.0), ("3V", "V", 3.0),
        ("10deg/s", "rad/s", math.radians(10)), ("250µs", "s", 250e-6), ("700 rad", "rad", 700.0), ("5g", "", 5e-3),
        ("60deg", "", math.pi / 3), ("10rad/s", "", 10.0), ("1e2", "N m", 100.0), (".5", "m", 0.5),
    ],
)
def test_values(text: str, unit: str, value: float) -> None:
    assert quantity(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("60", "rad", "60 without a unit is 60 rad, more than 6.283 rad; write 60deg or 60mrad, or 60rad if rad is"),
        ("20g", "rad", '"20g" is not in rad; write 5deg'),
        ("5dg", "rad", r'unknown unit "dg" \(did you mean "deg"'),
        ("60000", "s", "write 60000ms or 60000us"),
        ("3V", "N m", '"3V" is not in N m'), ("3bar", "N m", "unknown unit"),
        ("1e400", "s", "not a finite number"),
        ("20e9kg", "kg", "plausible bound"),
        ("9 0", "rad", "not a finite number"),
    ],
)
def test_what_cannot_be_meant(text: str, unit: str, message: str) -> None:
    with pytest.raises(fx.DefinitionError, match=message):
        quantity(text, unit)


def test_in_a_list_all_have_a_unit_or_none() -> None:
    assert quantities("0,90deg,-90 deg", "rad") == pytest.approx([0.0, math.pi / 2, -math.pi / 2])
    assert quantities("0,0.02", "kg") == [0.0, 0.02]
    assert between("0..25g", "kg") == between("0,25g", "kg") == (0.0, 0.025)
    for text in ("0.1,90deg", "90deg,0.1"):
        with pytest.raises(fx.DefinitionError, match=r"0\.1 has no unit beside .*write 0\.1deg"):
            quantities(text, "rad")
    with pytest.raises(fx.DefinitionError, match=r"not a range; write LOW,HIGH, for example 5g,20g"):
        between("20g", "kg", "--payload")


def test_every_key_of_a_plant_file_has_a_unit_that_can_be_written() -> None:
    for table in TABLES.values():
        for name, field in schema(table.holds).items():
            if isinstance(field.spec, Quantity | Ascending):
                unit = key_unit(table.dotted(1 if table.shape == "array" else None, name))
                assert unit == field.spec.unit
                assert unit in FACTORS, f"{table.name}.{name} is in {unit}: add its suffixes"
    assert (key_unit("link.1.section"), key_unit("model.sections"), key_unit("controller.LIMIT")) == (None, None, "")
    assert (key_unit("scenario.duration"), key_unit("scenario.method"), key_unit("payload.mas")) == ("s", None, "")


def test_settings() -> None:
    assert setting("payload.mass=20g") == ("payload.mass", 0.02)
    assert setting(" link.1.length = 960 mm ") == ("link.1.length", 0.96)
    assert setting("material.aluminium.youngs_modulus=70GPa")[1] == pytest.approx(7e10)
    assert setting("model.sections=40") == ("model.sections", 40)
    assert setting("model.form=paper") == ("model.form", "paper")
    assert fx.load_plant("tokhi_azad_1994", overrides=dict([setting("payload.mass=20g")])).arm.payload.mass == 0.02
    assert has_unit("20g")
    assert not has_unit("20")


def test_requirements_are_in_the_unit_of_their_name() -> None:
    found = certify.requirements(
        ["phase_margin_deg=45deg", "delay_margin=2ms", "payload_kg=0,20g", "chord1_angle.settle_1pct_s=900ms",
         "disk_margin=0.3", "frequency_change=-5%,5%", "ripple_at_bits=16:0.03"]
    )
    assert found == {
        "phase_margin_deg": 45.0, "delay_margin": 2e-3, "payload_kg": (0.0, 0.02), "chord1_angle.settle_1pct_s": 0.9,
        "disk_margin": 0.3, "frequency_change": (-0.05, 0.05), "ripple_at_bits": {16: 0.03},
    }


@pytest.mark.parametrize(
    "text",
    ["disk_margin=0.3deg", "gain_margin=2kg", "mu=1s", "linear_amplitude=1mm", "joint1_angle.max_error=2mm",
     "damping=1N", "60 deg: joint1_angle.max_error=2g", "joint1_angle.overshoot_pct=2deg", "ripple_at_bits=16:3deg",
     "tip.rms_error=1deg"],
)
def test_requirements_refuse_units_of_something_else(text: str) -> None:
    units = {"joint1_angle": "rad", "ripple_at_bits": "N m", "tip": "m"}
    with pytest.raises(fx.DefinitionError, match="is not in"):
        certify.requirements([text], units)


def test_scores_are_in_the_unit_of_their_signal() -> None:
    units = {"joint1_angle": "rad", "joint1_torque": "N m", "tip": "m", "ripple_at_bits": "N m"}
    words = ["joint1_angle.max_error=2deg", "60 deg: tip.rms_error=3mm", "joint1_angle.overshoot_pct=2%", "mu=95%",
             "ripple_at_bits=16:30mNm", "joint1_torque.peak=200", "joint1_angle.settle_1pct_s=0.5"]
    found = certify.requirements(words, units)
    assert found.pop("ripple_at_bits") == {16: pytest.approx(0.03)}
    assert found == pytest.approx({
        "joint1_angle.max_error": math.radians(2.0), "60 deg: tip.rms_error": 3e-3, "joint1_angle.overshoot_pct": 2.0,
        "mu": 0.95, "joint1_torque.peak": 200.0, "joint1_angle.settle_1pct_s": 0.5,
    })


def test_references_are_in_the_unit_of_their_channel() -> None:
    units, reach = {"joint1_angle": "rad", "tip_x": "m"}, 0.96
    found = specs.reference(["joint1_angle=quintic:60deg,1250ms", "tip_x=step:50mm"], units, tuple(units), reach)
    assert found["joint1_angle"].target == pytest.approx(math.pi / 3)
    assert found["joint1_angle"].time == 1.25
    assert found["tip_x"].target == pytest.approx(0.05)
    for word, message in (("joint1_angle=step:60", "write 60deg"), ("tip_x=step:50", "or 50mm"), ("step:60", "60deg"),
                          ("tip_x=step:5deg", "not in m"), ("joint1_angle=quintic:1,5deg", "not in s")):
        with pytest.raises(fx.DefinitionError, match=message):
            specs.reference([word], units, tuple(units), reach)
    assert specs.reference(["step:1"], units, ("joint1_angle",)).target == 1.0
    with pytest.raises(fx.DefinitionError, match="60 rad, more than"):
        specs.reference(["step:60"], units, ("joint1_angle",))


def test_values_of_a_sweep() -> None:
    assert sweep.values("payload.mass=0,10g,20g") == ("payload.mass", [0, 0.01, 0.02])
    assert sweep.values("controller.ANGLE=0,5deg")[1] == pytest.approx([0.0, math.radians(5)])
    assert sweep.values("scenario.duration=300ms,600ms") == ("scenario.duration", [0.3, 0.6])
    assert sweep.values("payload.mass=0..20g/3")[1] == Span(0.0, 0.02, 3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("modes planar_2r_flexible --pose joint2=60", "--pose joint2: 60 without a unit is 60 rad"),
        ("modes planar_2r_flexible --pose 10,30", "--pose: 10 without a unit is 10 rad"),
        ("modes planar_2r_flexible --pose joint2=60mm", '"60mm" is not in rad'),
        ("modes planar_2r_flexible --pose joint3=1", 'unknown joint "joint3"'),
        ("modes spatial_rp --pose joint2=500", "joint2: 500 without a unit is 500 m, more than 100 m; write 500cm"),
        ("modes spatial_rp --pose joint2=20deg", '"20deg" is not in m'),
        ("bode planar_2r_flexible --load tip_force_y=5mm", '--load tip_force_y: "5mm" is not in N'),
        ("bode planar_2r_flexible --load tip_force_y=5e9", r"5e9 without a unit is 5e\+09 N"),
        ("linearise planar_2r_flexible --load joint1_torque=5N", '"5N" is not in N m'),
        ("linearise planar_2r_flexible --load tip_forc_y=5", 'did you mean "tip_force_y"'),
        ("modes simo_vu_quoc_1986 --spin 6Hz", '--spin: "6Hz" is not in rad/s'),
        ("modes simo_vu_quoc_1986 --spin 600", "600 without a unit is 600 rad/s"),
        ("modes planar_2r_flexible --spin 6", "--spin has 1 values; the arm has 2 joints"),
        ("certify tokhi_azad_lqg --load joint1_torque=50g", '"50g" is not in N m'),
        ("certify tokhi_azad_lqg --load joint1_torq=0.05", 'did you mean "joint1_torque"'),
        ("certify tokhi_azad_lqg --vary payload.mass=0..20mm", '"20mm" is not in kg'),
        ("certify tokhi_azad_lqg --vary payload.mass=20g..0", "write the lower value first"),
        ("certify tokhi_azad_lqg --vary payload.mass=1..20g", "1 has no unit beside"),
        ("certify tokhi_azad_lqg --vary model.sections=1..20g", "a plain value"),
        ("certify tokhi_azad_lqg --vary payload.mass=0..20lb", '--vary payload.mass: unknown unit "lb"'),
        ("certify tokhi_azad_lqg --payload 0,20lb", '--payload: unknown unit "lb"; known: g, kg, mg'),
        ("sweep tokhi_azad_lqg --over payload.mass=0,20lb", '--over payload.mass: unknown unit "lb"'),
        ("simulate tokhi_azad_1994 --torque step:1ftlb", 'signal "step:1ftlb": unknown unit "ftlb"'),
        ("certify tokhi_azad_lqg --pose 90deg,1", "the arm has 1 joints"),
        ("certify tokhi_azad_lqg --require chord1_angle.settle_1pct_s=1200", "write 1200ms"),
        ("simulate tokhi_azad_1994 --torque bang-bang:0.1,300", "write 300ms"),
        ("simulate tokhi_azad_1994 --torque bang-bang:0.1,0.3 --step 200", "--step: 200 without a unit .* write 200ms"),
        ("simulate tokhi_azad_1994 --torque bang-bang:0.1,0.3 --duration 1200", "--duration: 1200 without a unit"),
        ("validity tokhi_azad_1994 --torque bang-bang:0.1,0.3 --times 1g", '--times: "1g" is not in 1'),
        ("validity tokhi_azad_1994 --torque bang-bang:0.1,0.3 --step 200", "write 200ms"),
        ("sweep tokhi_azad_lqg --over scenario.duration=2500", "write 2500ms"),
        ("sweep tokhi_azad_lqg --over scenario.step=200,300", "write 200ms"),
        ("sweep tokhi_azad_lqg --over link.1.length=960,970", "write 960cm or 960mm"),
    ],
)
def test_every_option_knows_the_unit_of_its_numbers(words: str, message: str) -> None:
    """Refused before anything is computed."""
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == 2, result.output
    assert re.search(message, " ".join(result.stderr.split())), result.stderr


def test_units_of_poses_loads_and_spins_are_taken() -> None:
    """The same plant, however its numbers are written."""
    for one, other in (
        ("planar_2r_flexible --pose joint2=60deg --load tip_force_y=5000mN",
         f"planar_2r_flexible --pose 0,{math.pi / 3!r} --load tip_force_y=5"),
        ("simo_vu_quoc_1986 --spin 60rpm --hold joint1", f"simo_vu_quoc_1986 --spin {2 * math.pi!r} --hold joint1"),
    ):
        found = [CliRunner().invoke(cli, ["modes", *words.split(), "--json", "--count", "3"]) for words in (one, other)]
        assert [r.exit_code for r in found] == [0, 0], found[0].stderr
        a, b = (json.loads(r.stdout)["frequencies_hz"] for r in found)
        assert a == pytest.approx(b, rel=1e-9)
