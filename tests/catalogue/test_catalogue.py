"""Plant files and overrides: what is accepted, and what every refusal says."""

from __future__ import annotations

import math
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl import catalogue
from flexctl.catalogue import definition
from flexctl.catalogue.expected import Expected, check_one
from flexctl.catalogue.format import reference
from flexctl.catalogue.overrides import parse_override
from flexctl.machine.schema import UNITS, Quantity, schema

NAME = "tokhi_azad_1994"
ROOT = Path(__file__).parents[2]
MINIMAL = """
[material.steel]
youngs_modulus = 2.1e11
density = 7850.0
[section.rod]
area = 1e-4
second_moment = 8e-10
[[link]]
length = 1.0
material = "steel"
section = "rod"
[[joint]]
[model]
kind = "finite_difference"
"""


def load(tmp_path: Path, text: str, **options: Any) -> fx.Plant:
    path = tmp_path / "arm.toml"
    path.write_text(text)
    return fx.load_plant(path, **options)


def refusal(tmp_path: Path, text: str, **options: Any) -> str:
    with pytest.raises(fx.DefinitionError) as caught:
        load(tmp_path, text, **options)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'arm.toml'}"), "every message begins with the file"
    return message.removeprefix(f"{tmp_path / 'arm.toml'}: ")


def swap(old: str, new: str) -> str:
    assert MINIMAL.count(old) == 1
    return MINIMAL.replace(old, new)


# ---------------------------------------------------------------------------------------------------- what is accepted


def test_a_minimal_file_gives_the_arm_with_defaults(tmp_path: Path) -> None:
    plant = load(tmp_path, MINIMAL)
    link = plant.arm.links[0]
    assert (plant.name, plant.title, plant.kind) == ("arm", "arm", "finite_difference")
    assert link.bending_stiffness == pytest.approx(168.0, rel=1e-15)
    assert link.mass == pytest.approx(0.785, rel=1e-15)
    assert plant.arm.joints == (fx.Joint(0.0, "torque"),)
    assert plant.arm.payload == fx.Payload(0.0, 0.0)
    assert plant.arm.gravity == (0.0, 0.0, 0.0)


def test_every_table_reaches_the_arm(tmp_path: Path) -> None:
    text = MINIMAL + """
[payload]
mass = 0.2
inertia = 1e-3
[damping]
kind = "rayleigh"
alpha = 0.5
beta = 1e-5
[gravity]
y = -9.81
[[sensor]]
name = "mid"
kind = "strain"
position = 0.5
[[actuator]]
name = "push"
start = 0.25
end = 0.75
[[link]]
length = 0.5
material = "steel"
section = "rod"
[[joint]]
hub_inertia = 0.01
drive = "motion"
"""
    arm = load(tmp_path, text).arm
    assert [link.length for link in arm.links] == [1.0, 0.5]
    assert arm.joints[1] == fx.Joint(0.01, "motion")
    assert arm.payload == fx.Payload(0.2, 1e-3)
    assert arm.damping == fx.Damping("rayleigh", 0.0, 0.5, 1e-5)
    assert arm.gravity == (0.0, -9.81, 0.0)
    assert arm.sensors == (fx.Sensor("mid", "strain", 0.5, 1),)
    assert arm.actuators == (fx.Actuator("push", 0.25, 0.75, 1),)


def test_integers_are_numbers_and_bom_and_crlf_are_text(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_bytes(b"\xef\xbb\xbf" + swap("length = 1.0", "length = 1").replace("\n", "\r\n").encode())
    plant = fx.load_plant(path)
    assert plant.arm.links[0].length == 1.0
    assert isinstance(plant.arm.links[0].length, float)


def test_numbers_without_a_source_are_listed(tmp_path: Path) -> None:
    text = MINIMAL + "[provenance]\n'link.1.length' = 'chosen: round'\nsection.rod.area = 'derived: square'"
    assert load(tmp_path, MINIMAL).undocumented() == [
        "material.steel.youngs_modulus", "material.steel.density", "section.rod.area", "section.rod.second_moment",
        "link.1.length",
    ]
    assert load(tmp_path, text).undocumented() == [
        "material.steel.youngs_modulus", "material.steel.density", "section.rod.second_moment",
    ]
    assert load(tmp_path, text).provenance["link.1.length"] == "chosen: round"


def test_str_shows_every_value_with_its_unit() -> None:
    shown = str(fx.load_plant(NAME))
    assert re.search(r"link\.1\.length +0\.96 +m +L: length", shown)
    assert re.search(r"model\.sections +19", shown)


# ----------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("length = 1.0", "lenght = 1.0", ["[[link]] 1: ", 'unknown key "lenght" (did you mean "length"?)']),
        ("length = 1.0", "", ["[[link]] 1: ", 'missing key "length"', "[m]"]),
        ("length = 1.0", "length = 960.0", ["[[link]] 1: length = 960 m is above", "100 m", "metres", "0.96 if mm"]),
        ("length = 1.0", "length = -1.0", ["[[link]] 1: length = -1 m must be positive"]),
        ("length = 1.0", "length = 0.0", ["[[link]] 1: length = 0 m must be positive"]),
        ("length = 1.0", "length = nan", ["[[link]] 1: length = nan is not finite"]),
        ("length = 1.0", "length = -inf", ["[[link]] 1: length = -inf is not finite"]),
        ("length = 1.0", "length = true", ["[[link]] 1: length = true is not a number"]),
        ("length = 1.0", 'length = "1 m"', ['[[link]] 1: length = "1 m" is not a number', "metres"]),
        ("length = 1.0", f"length = 1{'0' * 400}", ["[[link]] 1: length = inf is not finite"]),
        ("length = 1.0", "length = 96.0", ["[[link]] 1: length / radius of gyration", "2e+04|20000", "(m)"]),
        ("2.1e11", "210.0", ["[material.steel]: youngs_modulus = 210 Pa is below", "1e+06 Pa", "2.1e+11 if GPa"]),
        ("2.1e11", "2.1e5", ["[material.steel]: youngs_modulus", "2.1e+11 if MPa"]),
        ("7850.0", "7.85", ["[material.steel]: density = 7.85 kg/m^3 is below", "7850 if g/cm^3"]),
        ("7850.0", "7.85e6", ["[material.steel]: density", "7850 if g/m^3"]),
        ("area = 1e-4", "area = 100", ["[section.rod]: area = 100 m^2 is above", "0.0001 if mm^2"]),
        ("area = 1e-4", "area = 0.1", ["[[link]] 1: radius of gyration / sqrt(area)", "area (m^2)"]),
        ("8e-10", "800", ["[section.rod]: second_moment = 800 m^4 is above", "8e-10 if mm^4"]),
        ("8e-10", "8e-2", ["[section.rod]: second_moment", "8e-10 if cm^4"]),
        ("8e-10", "8e-3", ["[[link]] 1: length / radius of gyration"]),
        ("8e-10", "8e-10\nouter_distance = 1e-3", ["[[link]] 1: outer_distance = 0.001 m is outside 0.00283"]),
        ("8e-10", "8e-10\npoisson_ratio = 0.3", ['[section.rod]: unknown key "poisson_ratio"']),
        ("[[joint]]", "[[joint]]\nhub_inertia = 9999.0", ["[[joint]] 1: hub_inertia", "inertia of the links"]),
        ("[[joint]]", "[[joint]]\ndrive = 'toque'", ['[[joint]] 1: unknown drive "toque" (did you mean "torque"?)']),
        ("[[joint]]", "[[joint]]\n[[joint]]", ["1 links need 1 joints, got 2"]),
        ("[[joint]]", "[payload]\nmass = 250\n[[joint]]", ["[payload]: mass = 250 kg", "0.25 if g"]),
        ("[[joint]]", "[payload]\nmass = -1\n[[joint]]", ["[payload]: mass = -1 kg must be zero or more"]),
        ("[[joint]]", "[payload]\ninertia = 9\n[[joint]]", ["[payload]: inertia = 9 kg m^2 is above", "0.785 kg m^2"]),
        ("[[joint]]", "[damping]\nratio = 0.01\n[[joint]]", ["[damping]: ratio", 'set kind = "modal"']),
        ("[[joint]]", "[damping]\nkind='modal'\nratio = 5\n[[joint]]", ["[damping]: ratio = 5 is above", "0.05 if %"]),
        ("[[link]]", "[link]", ["[[link]] is an array of tables"]),
        ("[material.steel]", "[material]", ["[material.NAME] is a named table"]),
        ("[material.steel]", "[material.'a b']", ['"a b" is not a name']),
        ('material = "steel"', 'material = "stel"', ['[[link]] 1: unknown material "stel" (did you mean "steel"?)']),
        ('material = "steel"', "material = 7", ["[[link]] 1: material = 7 is not a string", "[material.NAME]"]),
        ("[[joint]]", "[[joints]]", ['unknown table or key "joints" (did you mean "joint"?)']),
        ('"finite_difference"', '"finite_differences"', ['[model]: unknown kind "finite_differences" (did you mean']),
        ('kind = "finite_difference"', "", ['[model]: missing key "kind"', "finite_difference"]),
        ("[model]", "[model]\nsection = 3", ["[model]: unknown option", 'did you mean "sections"?']),
        ("[model]", "[model]\nsections = 'many'", ['[model]: sections = "many" is not a whole number']),
        ("[model]", "[model]\nsections = [3]", ["[model]: sections = [3] is not a whole number"]),
        ("[model]", "title = 3\n[model]", ["[[joint]] 1: unknown key"]),
    ],
)
def test_a_wrong_file_is_refused_with_place_value_bound_and_remedy(
    tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    message = refusal(tmp_path, swap(old, new))
    for part in parts:
        assert any(alternative in message for alternative in part.split("|")), message


@pytest.mark.parametrize(
    ("tail", "part"),
    [
        ("[[sensor]]\nname='a'\nkind='strain'\nposition=0.5\nlink=2", "[[sensor]] 1: link = 2, but the arm has 1"),
        ("[[sensor]]\nname='a'\nkind='strain'\nposition=0.5\n" * 2, '[[sensor]] 2: the name "a" is taken'),
        ("[[sensor]]\nname='a'\nkind='strain'\nposition=50", "[[sensor]] 1: position = 50 is above"),
        ("[[sensor]]\nname='a'\nkind='strian'\nposition=0.5", 'unknown kind "strian" (did you mean "strain"?)'),
        ("[[actuator]]\nname='a'\nstart=0.7\nend=0.2", "start = 0.7 lies beyond end = 0.2"),
        ("[[actuator]]\nname='1a'\nstart=0.1\nend=0.2", '[[actuator]] 1: name = "1a" is not a name'),
        ("[provenance]\n'link.1.lenght' = 'published: x'", 'unknown key "link.1.lenght" (did you mean "link.1.l'),
        ("[provenance]\n'link.1.length' = 'guess'", '[provenance]: "link.1.length" = "guess" must read "GROUND'),
        ("[provenance]\n'link.1.length' = 'published:'", 'must read "GROUND: where"'),
        ("[[expected]]\nquantity='frequency'\nvalues=1\nsource='x'", '[[expected]] 1: unknown quantity "frequency"'),
        ("[[expected]]\nquantity='rigid_modes'\nvalues=[]\nsource='x'", "[[expected]] 1: values is empty"),
        ("[[expected]]\nquantity='rigid_modes'\nvalues=['1']\nsource='x'", 'values = "1" is not a finite number'),
        ("[[expected]]\nquantity='rigid_modes'\nvalues=1", 'missing key "source"'),
        ("[[expected]]\nquantity='rigid_modes'\nvalues=1\nsource=' '", "source"),
    ],
)
def test_wrong_sensors_provenance_and_expectations_are_refused(tmp_path: Path, tail: str, part: str) -> None:
    assert part in refusal(tmp_path, MINIMAL + tail)


@pytest.mark.parametrize(
    "breaks", ["[0.6, 0.4]", "[0.0, 0.5]", "[0.5, 1.0]", "[0.3, nan]", f"[0.5, 1{'0' * 400}]", "true", "'x'"]
)
def test_breaks_ascend_within_the_link(tmp_path: Path, breaks: str) -> None:
    pieces = f'section = "rod"\nnext_sections = ["rod", "rod"]\nbreaks = {breaks}'
    message = refusal(tmp_path, swap('section = "rod"', pieces))
    assert message.startswith("[[link]] 1: breaks = ")
    assert message.endswith("must ascend and lie between 0 and 1")


def test_a_link_of_three_pieces(tmp_path: Path) -> None:
    pieces = 'section = "rod"\nnext_sections = ["rod", "rod"]\nbreaks = [0.25, 0.5]'
    plant = load(tmp_path, swap('section = "rod"', pieces))
    assert plant.arm.links[0].mass == pytest.approx(0.785, rel=1e-15)
    assert "link.1.breaks" in plant.undocumented()


def test_toml_errors_name_the_line(tmp_path: Path) -> None:
    assert "at line 3, column" in refusal(tmp_path, "\n\nlength = 1 m\n")
    path = tmp_path / "arm.toml"
    path.write_bytes(b"title = 'x'\n# gr\xf6sse\n")
    with pytest.raises(fx.DefinitionError, match=r"arm\.toml: line 2: not UTF-8 text \(byte 0xf6\)"):
        fx.load_plant(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path, Path("a\0b.toml")):
        with pytest.raises(fx.DefinitionError, match="cannot read the file"):
            fx.load_plant(path)


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def refuse(path: Path, mode: str = "r", *others: Any, **named: Any) -> Any:
        if mode == "rb":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, mode, *others, **named)

    monkeypatch.setattr(Path, "open", refuse)  # not by chmod: the superuser reads everything
    assert refusal(tmp_path, MINIMAL) == "cannot read the file: Permission denied"


def test_tables_nested_beyond_the_recursion_limit(tmp_path: Path) -> None:
    deep = ".".join(["a"] * 3000)
    assert "nested too deeply" in refusal(tmp_path, MINIMAL + f"[provenance]\n{deep} = 1")
    assert "nested too deeply" in refusal(tmp_path, "a = " + "[" * 20_000)


def test_names_are_checked() -> None:
    said = f'unknown plant "tokhi_azad_1995".*did you mean "{NAME}".*path of a .toml'
    with pytest.raises(fx.DefinitionError, match=said):
        fx.load_plant("tokhi_azad_1995")
    with pytest.raises(fx.DefinitionError, match="no folder"):
        catalogue.find("arms")


def test_the_package_copy_comes_before_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "PACKAGE", tmp_path / "flexctl")
    with pytest.raises(fx.NotAvailable, match="reinstall"):
        catalogue.find("plants")
    (tmp_path / "plants").mkdir()
    assert catalogue.find("plants") == tmp_path / "plants"
    packaged = tmp_path / "flexctl" / "_catalogue" / "plants"
    packaged.mkdir(parents=True)
    assert catalogue.find("plants") == packaged


# ----------------------------------------------------------------------------------------------------------- overrides


def test_three_ways_to_override_agree() -> None:
    by_key = fx.load_plant(NAME, overrides={"payload.mass": 0.02, "link.1.length": 1.2, "model.sections": 40})
    by_table = fx.load_plant(NAME, payload={"mass": 0.02}, link={1: {"length": 1.2}}, model={"sections": 40})
    later = fx.load_plant(NAME).with_(payload={"mass": 0.02}).with_({"link.1.length": 1.2}, model={"sections": 40})
    for plant in (by_key, by_table, later):
        assert plant.arm == by_key.arm
        assert plant.overrides == {"payload.mass": 0.02, "link.1.length": 1.2, "model.sections": 40}
        assert (plant.arm.payload.mass, plant.arm.links[0].length, plant.options["sections"]) == (0.02, 1.2, 40)
    assert by_key.identity["overrides"] == by_key.overrides
    assert by_key.provenance["payload.mass"] == "chosen: override"
    assert by_key.provenance["joint.1.hub_inertia"] == "published: Table 1"


def test_overriding_leaves_the_original_alone() -> None:
    plant = fx.load_plant(NAME)
    heavy = plant.with_(payload={"mass": np.float32(0.25)})
    assert (plant.arm.payload.mass, heavy.arm.payload.mass) == (0.0, 0.25)
    assert type(heavy.overrides["payload.mass"]) is float, "overrides must be writable as JSON"
    assert fx.load_plant(NAME).overrides == {}


def test_a_whole_array_is_replaced() -> None:
    plant = fx.load_plant(NAME, sensor=[{"name": "mid", "kind": "strain", "position": 0.5}])
    assert plant.arm.sensors == (fx.Sensor("mid", "strain", 0.5),)
    moved = plant.with_({"sensor.1.position": 0.25})
    assert moved.arm.sensors[0].position == 0.25
    assert moved.with_(sensor=[]).arm.sensors == ()
    assert moved.with_(sensor=[]).overrides == {"sensor": []}


def test_another_kind_drops_the_options_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def __init__(self, arm: fx.Arm, *, elements: int = 3) -> None:
            self.elements = elements

    monkeypatch.setitem(definition.REGISTRY, "other", f"{__name__}:Other")
    monkeypatch.setattr(sys.modules[__name__], "Other", Other, raising=False)
    plant = fx.load_plant(NAME, model="other", overrides={"model.elements": 5})
    assert (plant.kind, plant.options) == ("other", {"elements": 5})
    assert plant.model.elements == 5  # type: ignore[attr-defined]
    assert fx.load_plant(NAME, model={"sections": 40}).with_(model="other").options == {}
    with pytest.raises(fx.DefinitionError, match=r'unknown option of other "sections"'):
        fx.load_plant(NAME, model="other", overrides={"model.sections": 5})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("payload.mas", 1, r'with payload.mas = 1: unknown override "payload.mas" \(did you mean "payload.mass"\?\)'),
        ("link.2.length", 1, r'unknown override "link.2.length" \(did you mean "link.1.length"\?\)'),
        ("material.steel.density", 1, r'did you mean "material.aluminium.density"\?'),
        ("payload", 1, "unknown override"),
        ("title", "x", "unknown override"),
        ("", 1, "unknown override"),
        ("payload.mass", 20, r"with payload.mass = 20: \[payload\]: mass = 20 kg .*0.02 if g was meant"),
        ("payload.mass", "heavy", r'\[payload\]: mass = "heavy" is not a number'),
        ("payload.mass", math.nan, "is not finite"),
        ("payload.mass", None, "is not a number"),
        ("sensor", 3, "array of tables"),
        ("model.sectoins", 3, r'did you mean "sections"\?'),
        ("model.kind", "ancv", r"\[model\]: unknown kind"),
    ],
)
def test_wrong_overrides_are_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(fx.DefinitionError, match=message):
        fx.load_plant(NAME, overrides={key: value})


def test_a_bad_option_value_names_the_file_when_the_model_is_built() -> None:
    with pytest.raises(fx.DefinitionError, match=rf"plants/{NAME}\.toml: \[model\]: .*sections"):
        fx.load_plant(NAME, model={"sections": -3}).model  # noqa: B018


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("payload.mass=0.02", ("payload.mass", 0.02)),
        (" payload.mass = 2e-2 ", ("payload.mass", 0.02)),
        ("model.sections=40", ("model.sections", 40)),
        ("model.form=paper", ("model.form", "paper")),
        ("model.form='paper'", ("model.form", "paper")),
        ("model.lumped=true", ("model.lumped", True)),
        ("gravity.y=-9.81", ("gravity.y", -9.81)),
        ("sensor=[{name='a', position=0.5}]", ("sensor", [{"name": "a", "position": 0.5}])),
    ],
)
def test_command_line_overrides(text: str, expected: tuple[str, object]) -> None:
    key, value = parse_override(text)
    assert (key, value) == expected
    assert type(value) is type(expected[1])


@pytest.mark.parametrize("text", ["payload.mass", "=3", "payload.mass=", "payload.mass=20 g", "a=1\nb=2", "a=[", ""])
def test_command_line_overrides_that_make_no_sense(text: str) -> None:
    with pytest.raises(fx.DefinitionError, match="override"):
        parse_override(text)


# --------------------------------------------------------------------------------------------- objects made in Python


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fx.Material(-1.0, 2700.0), "youngs_modulus = -1 Pa must be positive"),
        (lambda: fx.Section(1e-4, math.nan), "second_moment = nan is not finite"),
        (lambda: fx.Payload(mass=-1.0), "mass = -1 kg must be zero or more"),
        (lambda: fx.Sensor("a", "strain", 1.5), "position = 1.5 is above"),
        (lambda: fx.Joint(drive="pull"), "unknown Joint.drive"),
        (lambda: fx.Damping(ratio=0.1), "has no effect"),
        (lambda: fx.Arm("a", (), ()), "at least one link"),
    ],
)
def test_the_data_classes_check_themselves(make: Any, message: str) -> None:
    with pytest.raises(fx.DefinitionError, match=message):
        make()


def test_normalised_units_are_fine_in_python() -> None:
    link = fx.Link(1.0, fx.Material(1.0, 1.0), fx.Section(1.0, 1.0))
    assert link.bending_stiffness == link.mass == 1.0


# --------------------------------------------------------------------------------------------------------- expectations


def test_a_wrong_expectation_fails() -> None:
    plant = fx.load_plant(NAME)
    right = check_one(plant, Expected("total_mass", (0.1601128704,), "rho A L", rtol=1e-9))
    wrong = check_one(plant, Expected("total_mass", (0.1601128704 * (1 + 1e-8),), "rho A L", rtol=1e-9))
    assert right.passed
    assert "passed" in str(right)
    assert not wrong.passed
    assert wrong.error == pytest.approx(10.0, rel=1e-3)
    assert "FAILED: total_mass: computed 0.16011287" in str(wrong)


def test_the_number_of_values_and_exact_equality_count() -> None:
    plant = fx.load_plant(NAME)
    assert not check_one(plant, Expected("total_mass", (0.16, 0.16), "x", rtol=0.1)).passed
    assert check_one(plant, Expected("total_mass", (0.16,), "x", atol=1e-3)).passed
    assert not check_one(plant, Expected("total_mass", (0.16,), "x")).passed, "no tolerance means exact"


# -------------------------------------------------------------------------------------------------------- controllers


def test_the_reference_of_the_format_is_up_to_date() -> None:
    text = (ROOT / "docs" / "plant-files.md").read_text()
    assert text.endswith(f"\n## Tables\n\n{reference()}"), "run: python -m flexctl.catalogue.format docs/plant-files.md"


def test_every_unit_of_the_format_is_known() -> None:
    """Otherwise the message about a wrong number could not be written."""
    specs = [field.spec for table in definition.TABLES.values() for field in schema(table.holds).values()]
    units = {spec.unit for spec in specs if isinstance(spec, Quantity)}
    assert {"m", "m^2", "m^4", "Pa", "kg", "kg m^2", "kg/m^3", "m/s^2", "s", "1/s", "1"} <= units <= set(UNITS)
    for spec in specs:
        if isinstance(spec, Quantity):
            assert spec.low < spec.high
            with pytest.raises(fx.DefinitionError, match="above the plausible bound"):
                spec.read("value", 2 * spec.high + 1)


def test_a_device_without_an_end_is_refused() -> None:
    """`flexctl show /dev/zero` read until the memory was full."""
    with pytest.raises(fx.DefinitionError, match="bytes of a plant file"):
        fx.load_plant("/dev/zero")


def test_files_that_would_take_minutes_are_refused_at_once(tmp_path: Path) -> None:
    """Python's reader takes time and memory with the square of the parts of a key: 15 s at 32,000."""
    path = tmp_path / "long.toml"
    quoted = '"a b"' + '."a b"' * 100_000
    for text in ("a" + ".a" * 100_000 + " = 1", f"[a{'.b' * 100_000}]", f"{quoted} = 1",
                 "x = {a" + " . a" * 9000 + " = 1}", "x" * 2_000_000, "x = " + "[" * 100_000,
                 "x = " + "{a=" * 30_000):
        path.write_text(f"title = 'long'\n{text}\n")
        started = time.perf_counter()
        with pytest.raises(fx.DefinitionError, match=r"32 parts|a plant file|nested|not valid TOML") as told:
            fx.load_plant(path)
        assert len(str(told.value)) < 500
        assert time.perf_counter() - started < 1.0
    path.write_text("title = 'long'\na" + ".a" * 40 + " = 1")
    with pytest.raises(fx.DefinitionError, match="line 2: nested too deeply, a key of more than 32 parts"):
        fx.load_plant(path)
    with pytest.raises(fx.DefinitionError, match="more than 32 parts") as refused:
        parse_override("payload={a" + ".a" * 40_000 + "=1}")
    assert len(str(refused.value)) < 500
