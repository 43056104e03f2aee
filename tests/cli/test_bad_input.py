"""Bad input on the command line: a clear message, exit code 2 (1 when a computation fails), nothing left behind."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from flexctl.__main__ import cli

ARM = "tokhi_azad_1994"

SCRIPT = '''"""A law for the tests."""
import numpy as np
from flexctl import LinearLaw
from flexctl.judging.scenario import Scenario
from flexctl.motion.moves import quintic

PLANT = "tokhi_azad_1994"

class Law:
    sample_time, measures, drives, follows = 1e-3, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",)
    def initial(self):
        return None
    def step(self, state, t, y, r):
        {step}

def design(plant):
    {design}

def scenarios(plant):
    {scenarios}
'''
GOOD = {
    "step": "return np.array([0.3 * (r[0] - y[0])]), state",
    "design": "return Law()",
    "scenarios": "return [Scenario('a', quintic(0, 0.1, 0.2), 0.05)]",
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def refused(*words: str, code: int = 2) -> str:
    """Return the message of a command that must fail cleanly: with its code, one message, no output, no traceback."""
    before = set(Path().rglob("*"))
    result = call(*words)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip()
    assert {p for p in set(Path().rglob("*")) - before if "__pycache__" not in p.parts} == set()
    return " ".join(result.stderr.split())


def script(**parts: str) -> str:
    Path("law.py").write_text(SCRIPT.format(**{**GOOD, **parts}))
    return "law.py"


class TestPlants:
    @pytest.mark.parametrize("command", ["show", "modes", "bode", "linearise"])
    @pytest.mark.parametrize(
        ("setting", "words"),
        [
            ("link.1.length=-0.96", ["[[link]] 1", "length = -0.96 m", "must be positive"]),
            ("link.1.length=0", ["length = 0 m", "must be positive"]),
            ("link.1.length=nan", ["length = nan", "not finite"]),
            ("link.1.length=960", ["length = 960 m", "above the plausible bound 100 m", "0.96 if mm was meant"]),
            ("link.1.lenght=1", ['unknown override "link.1.lenght"', 'did you mean "link.1.length"?']),
            ("payload.mass=-1e-3", ["mass = -0.001 kg", "must be zero or more"]),
            ("payload.mass=20s", ["20s", "not in kg", "write 5g"]),
            ("payload.mass=20gg", ['unknown unit "gg"', "kg"]),
            ("payload.mass=20kg", ["20 kg", "0.02 if g was meant"]),
            ("model.sections=20mm", ["plain value", "leave the unit out"]),
            ("payload.mass", ["not understood", "payload.mass=0.02"]),
            ("model.sections=2", ["sections = 2", "3"]),
            ("model.section=20", ["section", 'did you mean "sections"?']),
        ],
    )
    def test_overrides(self, command: str, setting: str, words: list[str]) -> None:
        message = refused(command, ARM, "--set", setting)
        assert all(word in message for word in words), message

    def test_a_key_set_twice(self) -> None:
        assert "set twice" in refused("modes", ARM, "--set", "payload.mass=0", "--set", "payload.mass=1")

    def test_an_unknown_model(self) -> None:
        assert 'did you mean "finite_difference"?' in refused("modes", ARM, "--model", "finite_diference")

    def test_a_missing_file(self) -> None:
        assert "none.toml" in refused("modes", "none.toml")

    def test_a_broken_file(self) -> None:
        Path("arm.toml").write_text("[link\n")
        assert "arm.toml: not valid TOML" in refused("modes", "arm.toml")

    def test_a_broken_linear_plant(self) -> None:
        Path("plant.mat").write_bytes(b"not a mat file")
        assert "plant.mat" in refused("modes", "plant.mat")

    @pytest.mark.parametrize("words", [["bode"], ["bode", "-o", "b.png"], ["simulate", "--input", "step:1"]])
    def test_a_plant_without_inputs(self, words: list[str]) -> None:
        np.savez("free.npz", M=np.eye(2), K=np.eye(2))
        assert "has no input" in refused(words[0], "free.npz", *words[1:])

    def test_overrides_of_a_linear_plant(self) -> None:
        assert call("linearise", ARM, "-o", "plant.npz").exit_code == 0
        assert "a linear plant" in refused("modes", "plant.npz", "--set", "payload.mass=0.01")


class TestArguments:
    @pytest.mark.parametrize(
        ("words", "part"),
        [
            (["bode", ARM, "--from", "-1"], "--from -1.0 Hz must be positive"),
            (["bode", ARM, "--from", "9", "--to", "1"], "is not below"),
            (["bode", ARM, "--to", "nan"], "not a finite number"),
            (["bode", ARM, "--to", "60deg"], "not in Hz"),
            (["bode", ARM, "--output", "tip_displacment"], 'did you mean "tip_displacement"?'),
            (["bode", ARM, "-o", "bode.jpeg"], '".jpeg" is not one of .png'),
            (["modes", ARM, "--count", "0"], "--count"),
            (["linearise", ARM, "--form", "modale"], 'did you mean "modal"?'),
            (["linearise", ARM, "-o", "plant.txt"], "not one of .mat, .npz, .json"),
            (["simulate", ARM], "nothing moves the arm"),
            (["simulate", "quanser_flexible_link", "--torque", "step:1"], "no joint takes a torque (tip_torque acts"),
            (["simulate", ARM, "--torque", "bang-bng:0.1,0.3"], 'did you mean "bang-bang"?'),
            (["simulate", ARM, "--torque", "bang-bang:0.1"], "write bang-bang:AMPLITUDE,HALF_TIME"),
            (["simulate", ARM, "--torque", "bang-bang:nan,1"], "not a finite number"),
            (["simulate", ARM, "--torque", "joint1_toque=step:1", "--duration", "1"], 'did you mean "joint1_torque"?'),
            (["simulate", ARM, "--torque", "step:1", "--duration", "-1"], "duration"),
            (["simulate", ARM, "--torque", "constant:1"], "give --duration"),
            (["simulate", ARM, "--torque", "step:1", "--duration", "1", "--method", "marsh"], 'did you mean "march"?'),
            (["simulate", ARM, "--torque", "step:1,0.1", "--payload-change", "0.5"], "write TIME:MASS"),
            (["simulate", ARM, "--torque", "step:1,0.1", "--payload-change", "0.1:-5g"], "must not be negative"),
            (["simulate", ARM, "--torque", "step:1,0.1", "--payload-change", "0.1:20"], "0.02 if g was meant"),
            (["simulate", ARM, "--torque", "step:1,0.1", "--payload-change", "0.1:5mm"], "not in kg"),
            (["simulate", ARM, "--torque", "step:5mm,0.1"], "not in N m"),
            (["simulate", ARM, "--torque", "step:1,5g"], "not in s"),
            (["simulate", ARM, "--torque", "step:1,0.1", "--duration", "60000"], "write 60000ms"),
            (["simulate", ARM, "--controller", "tokhi_azad_pd", "--reference", "quintic:60,1.25"], "write 60deg"),
            (["simulate", ARM, "--controller", "tokhi_azad_pd", "--reference", "quintic:60mm,1.25"], "not in rad"),
            (["certify", "tokhi_azad_lqg", "--payload", "0,20"], "write 20g or 20mg, or 20kg if kg is meant"),
            (["certify", "tokhi_azad_lqg", "--payload", "0,20kg"], "0.02 if g was meant"),
            (["certify", "tokhi_azad_lqg", "--payload", "5,20g"], "write 5g"),
            (["certify", "tokhi_azad_lqg", "--frequency", "-5,5"], "write -5%"),
            (["certify", "tokhi_azad_lqg", "--pose", "90"], "write 90deg"),
            (["certify", "tokhi_azad_lqg", "--require", "delay_margin=2deg"], "not in s"),
            (["sweep", "tokhi_azad_pd", "--over", "payload.mass=5..20g/3"], "write 5g"),
            (["sweep", "tokhi_azad_pd", "--over", "payload.mass=0,5,20g"], "write 5g"),
            (["sweep", "tokhi_azad_pd", "--over", "payload.mass=20mm"], "not in kg"),
            (["simulate", ARM, "--controller", "no_such_law"], "no_such_law"),
            (["simulate", ARM, "--torque", "none.csv", "--duration", "1"], "none.csv"),
            (["run", "no_such_law"], "no_such_law"),
            (["lst"], "lst"),
            (["modes"], "PLANT"),
            (["modes", ARM, "--jsn"], "--json"),
        ],
    )
    def test_is_refused_with_a_remedy(self, words: list[str], part: str) -> None:
        assert part in refused(*words)

    def test_an_unstable_step_is_refused_with_the_limit(self) -> None:
        message = refused(
            "simulate", ARM, "--torque", "step:0.01", "--duration", "0.3", "--method", "march", "--step", "300us"
        )
        assert "300 us is above the stability limit 273.039 us" in message
        assert "273 us" in message

    def test_a_stable_step_is_not(self) -> None:
        words = ("simulate", ARM, "--torque", "step:0.01", "--duration", "0.1", "--method", "march", "--step", "270us")
        assert call(*words).exit_code == 0


class TestControllers:
    def test_the_good_script_runs(self) -> None:
        assert call("run", script()).exit_code == 0

    @pytest.mark.parametrize(
        ("parts", "words"),
        [
            ({"step": "return np.zeros(2), state"}, ["shape (2,)", "joint1_torque", "shape (1,)"]),
            ({"step": "return ['a'], state"}, ["['a']", "not real numbers"]),
            ({"step": "return np.array([1j]), state"}, ["1.j", "not real numbers"]),
            ({"step": "return np.array([np.nan]), state"}, ["nan", "must be finite"]),
            ({"step": "return np.array([np.nan if t > 0.01 else 0.0]), state"}, ["t = 0.011 s", "must be finite"]),
            ({"step": "return 1 / 0, state"}, ["law.py, line 14", "ZeroDivisionError"]),
            ({"design": "return None"}, ["design(plant) returned nothing"]),
            ({"design": "return 3"}, ["int is not a controller", "sample_time"]),
            ({"design": "return plant.lenght"}, ["law.py, line 17", "AttributeError"]),
            (
                {"design": "return LinearLaw(1e-3, ('joint1_angle',), ('joint1_torque',), Dy=[[np.nan]])"},
                ["Dy", "not finite"],
            ),
            (
                {"design": "return LinearLaw(1e-3, ('joint1_angel',), ('joint1_torque',), Dy=[[1.0]])"},
                ['did you mean "joint1_angle"?'],
            ),
            ({"scenarios": "return []"}, ["empty list"]),
            ({"scenarios": "return [1]"}, ["returned int", "Scenario"]),
            (
                {"scenarios": "return [Scenario('a', quintic(0, 1, 1), 1.0, {'payload.mas': 1})]"},
                ['did you mean "payload.mass"?'],
            ),
            ({"scenarios": "return 2 * [Scenario('a', quintic(0, 1, 1), 1.0)]"}, ["share a name"]),
            ({"scenarios": "return [Scenario('a', {}, 1.0)]"}, ["follows", "give a reference"]),
        ],
    )
    def test_a_wrong_script_is_named(self, parts: dict[str, str], words: list[str]) -> None:
        message = refused("run", script(**parts), "-o", "out")
        assert all(word in message for word in words), message

    def test_a_script_that_does_not_compile(self) -> None:
        Path("law.py").write_text("def design(plant:\n")
        assert "law.py, line 1: SyntaxError" in refused("run", "law.py")

    def test_a_script_without_scenarios(self) -> None:
        Path("law.py").write_text(SCRIPT.format(**GOOD).partition("def scenarios")[0])
        assert "has no function scenarios" in refused("run", "law.py")

    def test_an_unknown_scenario(self) -> None:
        assert 'did you mean "a"?' not in refused("run", script(), "--only", "b")

    def test_scenarios_whose_names_hold_commas_can_be_told_apart(self) -> None:
        message = refused("run", "tokhi_azad_lqg", "--only", "5 deg")
        assert 'known: "5 deg, 0 g", "5 deg, 10 g"' in message

    @pytest.mark.parametrize("command", ["run", "certify", "sweep"])
    def test_a_law_on_another_plant_says_what_it_was_written_for(self, command: str) -> None:
        more = ["--over", "payload.mass=0", "--workers", "1"] if command == "sweep" else []
        message = refused(command, "tokhi_azad_lqg", "planar_2r_flexible", *more)
        assert "tokhi_azad_lqg.py was written for tokhi_azad_1994 and does not fit planar_2r_flexible: " in message

    def test_comparing_on_another_plant_says_so_too(self) -> None:
        message = refused("compare", "tokhi_azad_lqg", "--plant", "planar_2r_flexible", "--workers", "1")
        assert "was written for tokhi_azad_1994 and does not fit planar_2r_flexible: " in message

    @pytest.mark.parametrize("words", [["run"], ["compare", "--workers", "1"],
                                       ["sweep", "--over", "payload.mass=0", "--workers", "1"]])
    def test_a_plant_file_is_looked_for_beside_the_script_first(self, words: list[str]) -> None:
        """Another file of that name, in the folder one works in, is not the script's."""
        home = Path("home")
        home.mkdir()
        text = (Path(__file__).parents[2] / "plants" / f"{ARM}.toml").read_text()
        (home / "q.toml").write_text(text)
        (home / "law.py").write_text(SCRIPT.format(**GOOD).replace(f'"{ARM}"', '"q.toml"'))
        assert call(words[0], "home/law.py", *words[1:], "--json").exit_code == 0
        Path("q.toml").write_text("broken")
        assert call(words[0], "home/law.py", *words[1:], "--json").exit_code == 0
        (home / "q.toml").unlink()
        assert "q.toml: not valid TOML" in refused(words[0], "home/law.py", *words[1:])

    def test_a_script_without_a_plant(self) -> None:
        Path("law.py").write_text(SCRIPT.format(**GOOD).replace("PLANT =", "OTHER ="))
        assert "give one, flexctl run law.py PLANT" in refused("run", "law.py")

    def test_a_diverging_loop_fails_numerically(self) -> None:
        unstable = "return np.array([1e4 * y[0] + 1e-3]), state"
        message = refused(
            "run",
            script(step=unstable, scenarios="return [Scenario('a', quintic(0, 1, 1), 20.0)]"),
            "-o",
            "out",
            code=1,
        )
        assert "diverged at t = " in message


class TestOutput:
    @pytest.mark.parametrize(
        "words",
        [
            ["bode", ARM, "-o", "missing/bode.png"],
            ["linearise", ARM, "-o", "missing/plant.mat"],
            ["simulate", ARM, "--torque", "bang-bang:0.1,0.3", "-o", "missing/run.npz"],
        ],
    )
    def test_a_missing_folder(self, words: list[str]) -> None:
        assert "missing is not an existing folder" in refused(*words)

    def test_a_file_where_a_folder_should_be(self) -> None:
        Path("taken").touch()
        assert "is a file" in refused("run", script(), "-o", "taken")
        assert "is a file" in refused("demo", "-o", "taken")

    def test_a_folder_where_a_file_should_be(self) -> None:
        Path("plant.mat").mkdir()
        assert "is a folder" in refused("linearise", ARM, "-o", "plant.mat")

    def test_a_folder_that_may_not_be_written(self) -> None:
        """/proc refuses files even to the superuser."""
        if not Path("/proc/self").is_dir():
            pytest.skip("no /proc on this system")
        assert "cannot write" in refused("linearise", ARM, "-o", "/proc/plant.mat")
        assert "cannot write" in refused("bode", ARM, "-o", "/proc/bode.png")

    def test_a_full_disk_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import os

        def full(source: object, target: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        assert "No space left on device" in refused("linearise", ARM, "-o", "plant.npz", code=1)


def single_options() -> list[tuple[tuple[str, ...], str]]:
    """Return every option of every command that takes one value."""

    def walk(command: click.Command, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
        if isinstance(command, click.Group):
            return [row for name, one in command.commands.items() for row in walk(one, (*words, name))]
        options = [one for one in command.params if isinstance(one, click.Option)]
        return [
            (words, max(one.opts, key=len)) for one in options if not (one.multiple or one.count or one.is_flag)
        ]

    return walk(cli, ())


def test_an_option_of_one_value_given_twice_is_refused() -> None:
    """The last one counted, and the first was ignored: `measure --input joint1_torque --input joint2_torque`."""
    known = single_options()
    assert len(known) > 100
    for words, option in known:
        told = CliRunner().invoke(cli, [*words, option, "1", option, "2"])
        assert told.exit_code == 2, (words, option)
        assert f"{option} is given 2 times; it takes one value" in told.output, (words, option)
