"""The command line: the JSON contract, exit codes, clean stdout, help that works, nothing left behind."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from children import listening
from click.testing import CliRunner, Result

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.cli import specs
from flexctl.cli.quantities import quantity

ROOT = Path(__file__).resolve().parents[2]
ARM = "tokhi_azad_1994"
COMMANDS = [
    "demo", "list", "show", "modes", "bode", "norms", "linearise", "simulate", "validity", "run", "margins", "certify",
    "compare", "sweep", "excite", "measure", "identify", "export", "new", "doctor",
]
EXCITE = f"flexctl excite {ARM} --band 0.5Hz..60Hz --limit 0.1Nm -o multisine.csv"
MEASURE = f"flexctl measure {ARM} multisine.csv --output joint1_angle --encoder 20 -o record.csv"
BEFORE = {"measure": [EXCITE], "identify": [EXCITE, MEASURE]}
"""What the examples of a command need."""
FOUR = {"plant", "model", "overrides", "version"}

CONTROLLER = '''"""A PD with a rate measurement, for the tests."""
import numpy as np
from flexctl import LinearLaw
from flexctl.judging.scenario import Scenario, main
from flexctl.motion.moves import quintic

PLANT = "tokhi_azad_1994"
DAMPED = {"damping.kind": "modal", "damping.ratio": 0.01}

def design(plant):
    gains = {"Dy": [[-0.4, -0.05]], "Dr": [[0.4, 0.05, 0.05]]}
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    return LinearLaw(1e-3, *names, **gains).limited(-0.3, 0.3)

def scenarios(plant):
    move = quintic(0.0, 0.1, 0.2)
    return [Scenario(f"{grams} g", move, 0.4, {**DAMPED, "payload.mass": grams / 1000}) for grams in (0, 20)]

if __name__ == "__main__":
    main(__name__)
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a user's own arm and controller in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_controller.py").write_text(CONTROLLER)
    (tmp_path / "my_arm.toml").write_text((ROOT / "plants" / f"{ARM}.toml").read_text())
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def answer(*words: str) -> dict:
    """Return what a command prints with --json, by a parser that knows no NaN and no Infinity."""
    result = call(*words, "--json")
    assert result.exit_code == 0, result.stderr

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(result.stdout, parse_constant=refuse)


def process(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flexctl", *words], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, **options,
    )


class TestHelp:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_explains_itself_with_examples(self, command: str) -> None:
        result = call(command, "--help")
        assert result.exit_code == 0
        assert "Examples:" in result.stdout
        assert f"flexctl {command}" in result.stdout

    def test_the_commands_are_those_of_the_contract(self) -> None:
        assert sorted(cli.commands) == sorted(COMMANDS)

    @pytest.mark.parametrize(
        "command", [pytest.param(c, marks=[pytest.mark.slow] * (c == "certify")) for c in COMMANDS if c != "demo"]
    )
    def test_every_example_works_as_printed(self, command: str, place: Path) -> None:
        lines = call(command, "--help").stdout.partition("Examples:")[2].partition("Options:")[0].splitlines()
        examples = [line.strip().partition("  ")[0] for line in lines if line.strip()]
        assert len(examples) > 1 or command == "list"
        for example in [*BEFORE.get(command, ()), *examples]:
            words = shlex.split(example.partition("|")[0].partition(">")[0])
            result = call(*words[1:])
            assert result.exit_code == 0, f"{example}: {result.stderr}"

    def test_version(self) -> None:
        assert call("--version").stdout.split() == ["flexctl", fx.__version__]

    def test_help_imports_nothing_heavy(self) -> None:
        code = (
            "import sys; from flexctl.__main__ import cli\n"
            "try: cli.main(['--help'])\n"
            "except SystemExit: pass\n"
            "heavy = {'numba', 'control', 'matplotlib', 'slycot', 'pandas', 'rich'}\n"
            "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
        assert done.stderr.strip() == "[]"


class TestContract:
    def test_modes(self) -> None:
        found = answer("modes", ARM, "--set", "payload.mass=0.02", "--count", "4")
        assert FOUR | {"frequencies_hz", "damping", "rigid_modes"} <= found.keys()
        expected = fx.load_plant(ARM, payload={"mass": 0.02}).modes(4)
        np.testing.assert_array_equal(found["frequencies_hz"], expected.frequencies_hz)
        assert found["rigid_modes"] == 1
        assert found["overrides"] == {"payload.mass": 0.02}
        assert (found["plant"], found["model"], found["version"]) == (ARM, "finite_difference", fx.__version__)

    def test_bode(self) -> None:
        found = answer("bode", ARM, "--from", "1", "--to", "100", "--points", "50")
        assert FOUR | {"omega_rad_s", "inputs", "outputs", "response"} <= found.keys()
        omega = np.array(found["omega_rad_s"])
        H = np.array(found["response"]["real"]) + 1j * np.array(found["response"]["imag"])
        assert H.shape == (len(found["outputs"]), len(found["inputs"]), omega.size)
        assert omega[0] == pytest.approx(2 * math.pi)
        assert omega[-1] == pytest.approx(200 * math.pi)
        plant = fx.load_plant(ARM).linearise()
        np.testing.assert_allclose(H[:, :, ::10], plant.transfer(1j * omega[::10]), rtol=1e-9)

    def test_bode_of_chosen_channels(self) -> None:
        found = answer("bode", ARM, "--output", "tip_displacement", "--input", "joint1_torque", "--points", "20")
        assert (found["outputs"], found["inputs"]) == (["tip_displacement"], ["joint1_torque"])
        assert np.shape(found["response"]["real"])[:2] == (1, 1)

    def test_simulate(self) -> None:
        found = answer("simulate", ARM, "--torque", "bang-bang:0.1,0.3", "--duration", "1.2")
        assert FOUR | {"scores"} <= found.keys()
        assert found["scores"]["joint1_torque.peak"] == pytest.approx(0.1)
        assert found["duration_s"] == 1.2

    def test_simulate_runs_twice_the_command_by_default(self) -> None:
        assert answer("simulate", ARM, "--torque", "bang-bang:0.1,300ms")["duration_s"] == pytest.approx(1.2)

    def test_errors_of_outputs_stand_beside_scores(self) -> None:
        """`run` and `compare` had none."""
        found = answer("run", "two_mass_fixed")
        compared = answer("compare", "two_mass_fixed", "--workers", "1")["runs"]["two_mass_fixed"]
        for name, scores in found["scores"].items():
            for errors in (found["error"][name], compared[name]["error"]):
                assert errors.keys() >= {score.partition(".")[0] for score in scores}
                assert 0.0 <= errors["joint1_angle"] < 0.05

    def test_run(self, place: Path) -> None:
        found = answer("run", "my_controller.py")
        assert FOUR | {"scores", "controller"} <= found.keys()
        assert list(found["scores"]) == ["0 g", "20 g"]
        assert 0 < found["scores"]["0 g"]["joint1_torque.peak"] <= 0.3
        assert found["scores"]["0 g"] != found["scores"]["20 g"]

    def test_run_tells_margins_of_every_variant(self, place: Path) -> None:
        from flexctl.frequency import loop_gain, margins

        found = answer("run", "my_controller.py")["margins"]
        assert list(found) == ["payload.mass = 0.0", "payload.mass = 0.02"]
        law = fx.load_controller("my_controller.py").design(None)
        heavy = fx.load_plant(ARM, payload={"mass": 0.02}, damping={"kind": "modal", "ratio": 0.01})
        expected = margins(loop_gain(heavy.linearise(), law))
        assert found["payload.mass = 0.02"]["stable"] is True
        assert found["payload.mass = 0.02"]["phase_margin_deg"] == pytest.approx(expected.phase_margin_deg, rel=1e-9)

    def test_an_unstable_loop_has_no_margins(self, place: Path) -> None:
        Path("bad.py").write_text(CONTROLLER.replace("-0.4, -0.05", "0.4, 0.05"))
        found = answer("run", "bad.py")["margins"]["payload.mass = 0.0"]
        assert (found["stable"], found["phase_margin_deg"]) == (False, None)
        assert "NOT STABLE" in call("run", "bad.py").stdout

    def test_a_time_that_is_not_reached_is_null(self, place: Path) -> None:
        scores = answer("run", "my_controller.py", "--only", "0 g")["scores"]["0 g"]
        assert scores["joint1_angle.settle_0p1pct_s"] is None
        assert "> 0.4" in call("run", "my_controller.py", "--only", "0 g").stdout

    def test_list_and_show(self) -> None:
        listed = answer("list")
        assert [entry["name"] for entry in listed["plants"]] == fx.list_plants()
        assert [entry["name"] for entry in listed["controllers"]] == fx.list_controllers()
        assert all(entry["title"] for entry in [*listed["plants"], *listed["controllers"]])
        shown = answer("show", ARM, "--set", "payload.mass=0.01")
        rows = {row["key"]: row for row in shown["parameters"]}
        assert rows["payload.mass"]["value"] == 0.01
        assert rows["link.1.length"] == {
            "key": "link.1.length", "value": 0.96, "unit": "m",
            "meaning": "L: length; 0 for a link that is only a kink",
            "provenance": "published: Table 1",
        }

    def test_linearise_states_poles_and_names(self) -> None:
        found = answer("linearise", ARM, "--modes", "2")
        assert FOUR | {"states", "inputs", "outputs", "poles_rad_s"} <= found.keys()
        assert len(found["states"]) == 6
        expected = fx.load_plant(ARM).modes(2).frequencies_hz
        imag = np.array(found["poles_rad_s"]["imag"]) / (2 * math.pi)
        np.testing.assert_allclose(np.sort(imag[imag > 1]), expected, rtol=1e-9)


class TestFiles:
    @pytest.mark.parametrize("suffix", [".mat", ".npz", ".json"])
    def test_linearise_writes_a_plant_that_reads_back_identical(self, suffix: str, place: Path) -> None:
        assert call("linearise", ARM, "--set", "payload.mass=0.01", "-o", f"plant{suffix}").exit_code == 0
        plant, back = fx.load_plant(ARM, payload={"mass": 0.01}).linearise(), fx.load_linear(place / f"plant{suffix}")
        for name in ("M", "D", "K", "B", "Cq"):
            np.testing.assert_array_equal(getattr(back, name), getattr(plant, name))
        again = answer("modes", f"plant{suffix}", "--count", "3")
        assert (
            again["frequencies_hz"]
            == answer("modes", ARM, "--set", "payload.mass=0.01", "--count", "3")["frequencies_hz"]
        )
        assert again["overrides"] == {"payload.mass": 0.01}

    def test_simulate_writes_what_it_ran(self, place: Path) -> None:
        result = call(
            "simulate", ARM, "--torque", "step:0.01", "--duration", "0.1", "-o", "a.npz", "-o", "a.csv", "-o", "a.json"
        )
        assert result.exit_code == 0, result.stderr
        run = fx.Response.load("a.npz")
        table = np.loadtxt("a.csv", delimiter=",", skiprows=1)
        heads = Path("a.csv").read_text().splitlines()[0].split(",")
        np.testing.assert_array_equal(table[:, 0], run.t)
        np.testing.assert_array_equal(table[:, heads.index("tip_displacement [m]")], run["tip_displacement"])
        scores = json.loads(Path("a.json").read_text())["scores"]
        assert scores["tip_displacement.max"] == run.scores["tip_displacement.max"]
        assert run.provenance["plant"] == ARM

    def test_suffixes_in_capitals_mean_the_same(self, place: Path) -> None:
        assert call("bode", ARM, "-o", "B.JSON").exit_code == 0
        assert "response" in json.loads(Path("B.JSON").read_text())
        assert call("simulate", ARM, "--torque", "step:0.01", "--duration", "0.1", "-o", "R.NPZ").exit_code == 0
        assert fx.Response.load("R.NPZ").provenance["plant"] == ARM
        assert call("run", "my_controller.py", "--only", "0 g", "-o", "S.JSON").exit_code == 0
        assert "scores" in json.loads(Path("S.JSON").read_text())
        assert call("linearise", ARM, "-o", "P.MAT").exit_code == 0
        assert answer("modes", "P.MAT") == answer("modes", ARM)
        assert call("simulate", "P.MAT", "--torque", "step:0.01", "--duration", "0.1").exit_code == 0

    def test_bode_csv_holds_the_response(self, place: Path) -> None:
        words = ["--output", "tip_displacement", "--points", "30", "-o", "b.csv", "-o", "b.json"]
        assert call("bode", ARM, *words).exit_code == 0
        table, about = np.loadtxt("b.csv", delimiter=",", skiprows=1), json.loads(Path("b.json").read_text())
        np.testing.assert_array_equal(table[:, 1], about["response"]["real"][0][0])
        np.testing.assert_allclose(table[:, 3], 20 * np.log10(np.hypot(table[:, 1], table[:, 2])), rtol=1e-12)

    def test_run_fills_a_folder(self, place: Path) -> None:
        assert call("run", "my_controller.py", "-o", "new/out").exit_code == 0
        names = sorted(p.name for p in (place / "new" / "out").iterdir())
        assert names == ["my_controller.json", "my_controller.png", "my_controller_0_g.npz", "my_controller_20_g.npz"]

    def test_a_payload_change_acts_from_its_time_on(self) -> None:
        words = ("simulate", ARM, "--torque", "bang-bang:0.1,0.3", "--method", "march")
        without, later, now = (
            answer(*words, *more) for more in ((), ("--payload-change", "0.55:20g"), ("--payload-change", "0.05:20g"))
        )
        final = [run["scores"]["tip_displacement.max"] for run in (without, later, now)]
        assert final[0] != final[1] != final[2]
        assert final[2] < final[0]

    def test_a_linear_plant_from_a_file_runs_like_the_arm(self, place: Path) -> None:
        assert call("linearise", ARM, "-o", "plant.mat").exit_code == 0
        words = ("--torque", "bang-bang:0.1,0.3", "--method", "exact")
        one, other = (answer("simulate", name, *words) for name in ("plant.mat", ARM))
        turns = ("tip_x", "tip_y", "tip_error")  # with the arm; a linear plant does not
        first, second = ({k: v for k, v in x["scores"].items() if not k.startswith(turns)} for x in (one, other))
        assert len(first) > 15
        assert first == pytest.approx(second, rel=1e-9, abs=1e-12)
        assert {key: one[key] for key in FOUR} == {key: other[key] for key in FOUR}

    def test_show_a_controller_without_running_it(self, place: Path) -> None:
        Path("loud.py").write_text('"""A summary.\n\nThe rest."""\nraise RuntimeError\n')
        assert "The rest." in call("show", "loud.py").stdout
        assert answer("show", "loud.py")["description"].startswith("A summary.")


class TestDemo:
    def test_the_whole_job(self, place: Path) -> None:
        result = call("demo", "-o", "pictures")
        assert result.exit_code == 0, result.stderr
        written = [Path(line.strip()) for line in result.stdout.partition("Pictures:")[2].splitlines() if line.strip()]
        assert len(written) >= 4
        assert sorted(written) == sorted(Path("pictures").iterdir())
        for word in ("exact beam", "rigid", "11.8015", "0 g", "10 g", "20 g", "PD", "LQG"):
            assert word in result.stdout

    def test_the_rigid_bound(self) -> None:
        """60 deg with 0.3 N m: 0.834 s without payload, with the inertia of Table 1."""
        from flexctl.cli.demo import rigid_bound

        assert rigid_bound(math.pi / 3, 0.0497726738, 0.3) == pytest.approx(0.834, abs=5e-4)


class TestScenarios:
    def test_variants_are_told_by_what_differs(self) -> None:
        from flexctl.judging.scenario import variants

        base = {"model.sections": 20}
        plants = [fx.load_plant(ARM, overrides={**base, "payload.mass": m}) for m in (0.0, 0.01, 0.0)]
        assert list(variants(plants)) == ["payload.mass = 0.0", "payload.mass = 0.01"]
        assert list(variants(plants[:1])) == [""]

    def test_the_controller_is_designed_once_on_the_nominal_plant(self, place: Path) -> None:
        from flexctl.judging.scenario import run_scenarios

        script = fx.load_controller("my_controller.py")
        seen = []
        inner = script.design
        script.design = lambda plant: seen.append(plant) or inner(plant)
        nominal = fx.load_plant(ARM)
        runs = run_scenarios(script, nominal, method="march")
        assert seen == [nominal]
        assert [item.name for item, _ in runs] == ["0 g", "20 g"]
        assert {run.provenance["method"] for _, run in runs} == {"march"}
        assert [run.provenance["overrides"]["payload.mass"] for _, run in runs] == [0.0, 0.02]


class TestTracking:
    def test_a_law_on_several_models_of_one_arm(self) -> None:
        words = ("run", "tip_circle", "--only", "PD", "--also", ":model.elements=4")
        result = call(*words, "--json")
        assert result.exit_code == 0, result.stderr
        told = json.loads(result.stdout)
        ((label, other),) = told["also"].items()
        assert label == "tian_2r_beam (timoshenko_planar), model.elements = 4"
        assert other["overrides"] == {"model.elements": 4}
        first, second = (source["scores"]["PD"]["tip_y.rms_error"] for source in (told, other))
        assert first == pytest.approx(second, rel=0.01)
        assert told["stability"]["PD"]["stable"] is True
        assert told["stability"]["PD"]["growth_per_s"] < -1.0
        table = call(*words).stdout
        for word in ("Stability where the loop works", "PD: tian_2r_beam (timoshenko_planar)", "settled", "0.804"):
            assert word in table

    def test_a_hidden_instability_is_told_on_stderr(self, place: Path) -> None:
        """Chords fed back with gains that the light damping does not bear; the run itself is bounded."""
        Path("bare.py").write_text(
            "from flexctl.kernels.schemes import generalised_alpha\n"
            "from flexctl.design.tracking import pd_gains, tip_tracking\n"
            "from flexctl.judging.scenario import Scenario\n"
            "import flexctl\ntip = flexctl.load_controller('tip_circle')\nPLANT = tip.PLANT\n"
            "def design(plant):\n    gains = pd_gains(tip.INERTIA, 4.0)\n"
            "    return tip_tracking(tip.track(plant, 2.0), gains, angles='chord', sample_time=0.0)\n"
            "def scenarios(plant):\n    where = tip.track(plant, 2.0)\n"
            "    options = {'initial': where.start, 'scheme': generalised_alpha(0.0)}\n"
            "    return [Scenario('chords', where.references(plant, design(plant)), 0.5, options=options)]\n"
        )
        result = call("run", "bare.py", "--json")
        assert result.exit_code == 0, result.stderr
        assert result.stderr.count("warning: the linear loop is unstable on its own path: +") == 1
        assert json.loads(result.stdout)["stability"]["chords"]["stable"] is False


class TestSpecs:
    @pytest.mark.parametrize(
        ("text", "value"),
        [("0.3", 0.3), ("60deg", math.pi / 3), ("250ms", 0.25), ("20g", 0.02), ("-1e-3", -1e-3), (" 5 mm ", 0.005)],
    )
    def test_numbers_with_units(self, text: str, value: float) -> None:
        assert quantity(text) == pytest.approx(value, rel=1e-15)

    @pytest.mark.parametrize("text", ["", "nan", "inf", "-inf", "0x1", "1 2", "five"])
    def test_what_is_no_number(self, text: str) -> None:
        with pytest.raises(fx.DefinitionError, match="not a finite number"):
            quantity(text)

    def test_an_unknown_unit_names_the_known_ones(self) -> None:
        with pytest.raises(fx.DefinitionError, match=r'unknown unit "dg" \(did you mean "deg"\?\)'):
            quantity("5dg")

    def test_motions_end_where_they_say(self) -> None:
        for text in (
            "quintic:60deg,1.25",
            "cubic:60deg,1.25",
            "cycloid:60deg,1.25",
            "trapezoid:60deg,1.25,0.25",
            "step:60deg",
        ):
            motion = specs.reference([text])
            assert motion.target == pytest.approx(math.pi / 3)
            assert motion(np.array([2.0]))[0][0] == pytest.approx(math.pi / 3)

    def test_references_by_channel(self) -> None:
        found = specs.reference(["joint1_angle=step:1", "tip_displacement=step:2,0.5"])
        assert {name: motion.target for name, motion in found.items()} == {"joint1_angle": 1.0, "tip_displacement": 2.0}

    def test_a_file_of_samples(self, place: Path) -> None:
        Path("u.csv").write_text("# t,u\n0,0\n0.5,1\n1,0\n")
        signals = specs.inputs((), fx.load_plant(ARM).model.inputs, ["u.csv"])
        assert signals["joint1_torque"](0.25) == pytest.approx(0.5)


class TestProcess:
    def test_stdout_is_only_the_json(self) -> None:
        done = process("simulate", ARM, "--torque", "bang-bang:0.1,0.3", "--json")
        assert done.returncode == 0
        assert json.loads(done.stdout)["plant"] == ARM

    def test_exit_code_and_message_of_wrong_input(self) -> None:
        done = process("modes", "tokhi_azad_194")
        assert (done.returncode, done.stdout) == (2, "")
        assert 'did you mean "tokhi_azad_1994"?' in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_terminal_without_greek_letters(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "flexctl", "bode", ARM, "--output", "tip_displacement"],
            capture_output=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        )
        assert done.returncode == 0, done.stderr
        assert b"joint1_torque ? tip_displacement" in done.stdout

    def test_debug_shows_the_traceback(self) -> None:
        assert "Traceback" in process("modes", "tokhi_azad_194", "--debug").stderr

    @pytest.mark.skipif(sys.platform == "win32", reason="signals")
    @pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
    def test_an_interrupted_run_leaves_nothing(self, place: Path, kind: signal.Signals) -> None:
        slow = CONTROLLER.replace("def scenarios", "class Slow(LinearLaw):\n    pass\n\ndef scenarios")
        slow += "\nimport pathlib, time\nfast = design\n"
        slow += "def design(plant):\n    return Sleeper(fast(plant))\n"
        slow += "class Sleeper:\n    def __init__(self, law): self.law = law\n"
        slow += "    def __getattr__(self, name): return getattr(self.__dict__['law'], name)\n"
        slow += "    def step(self, *a):\n        pathlib.Path('started').touch(); time.sleep(0.05)\n"
        slow += "        return self.law.step(*a)\n"
        (place / "slow.py").write_text(slow)
        words = [sys.executable, "-m", "flexctl", "run", "slow.py", "-o", "out"]
        child = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            preexec_fn=listening,
        )
        while not (place / "started").exists() and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(kind)
        stdout, stderr = child.communicate(timeout=20)
        assert child.returncode == 130, stderr
        assert "interrupted" in stderr
        assert "Traceback" not in stderr
        assert stdout == ""
        assert sorted(p.name for p in place.iterdir() if p.name != "__pycache__") == [
            "my_arm.toml",
            "my_controller.py",
            "slow.py",
            "started",
        ]

    @pytest.mark.parametrize(("words", "folder"), [((), "out"), (("-oelsewhere",), "elsewhere")])
    def test_a_script_runs_by_itself(self, place: Path, words: tuple[str, ...], folder: str) -> None:
        done = subprocess.run(
            [sys.executable, "my_controller.py", "--only", "0 g", *words], capture_output=True, text=True, timeout=60,
            check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 0, done.stderr
        assert "0 g" in done.stdout
        assert [p.parent.name for p in place.rglob("my_controller.png")] == [folder]
