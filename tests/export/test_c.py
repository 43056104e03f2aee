"""Laws as C code: equal to the law in Python to the last bit, clean under every warning, refused where it must be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported_laws import COMPILER, KINDS, TS, blend, in_time, linear, needs_compiler

import flexctl as fx
from flexctl.export.compiled_c import CompiledLaw
from flexctl.export.program import Program, Units, program_of
from flexctl.export.sampled import Sampling
from flexctl.export.vectors import answers, inputs, mirrored, record
from flexctl.laws.controller import bare, initial_at
from flexctl.linear.discrete import zero_order_hold

LONG = 20_000
SLOW_FLAGS = [pytest.param(f, marks=pytest.mark.slow) for f in ("-std=c99 -O3 -march=native", "-std=gnu11 -O0")]
SLOW_KINDS = [
    pytest.param(kind, marks=pytest.mark.slow)
    for kind in ("blended, mirrored, of one size more", "references alone", "two drives")
]
SAMPLED = [
    "planar_2r_scheduled", "ralf_hinf", "ralf_lqg", "ralf_servo", "ralf_shaped", "spatial_3r_pid", "tip_circle",
    "tip_square", "tokhi_azad_governor", "tokhi_azad_hinf", "tokhi_azad_inversion", "tokhi_azad_loop_shaping",
    "tokhi_azad_lqg", "tokhi_azad_pd", "tokhi_azad_ppf", "tokhi_azad_robust", "tokhi_azad_shaped",
]


def program(law: Any) -> Program:
    return program_of(law, Units({}, {}), Sampling(), None, None)


def make(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *targets], cwd=folder, capture_output=True, text=True, check=False)


def assert_equal_over(law: Any, period: Any, y: Any, r: Any) -> Any:
    """Step the law in Python and in C through the same readings; the commands are the same to the last bit."""
    wanted = answers(law, law.sample_time, period, y, r)
    found = answers(fx.compiled_c(law), law.sample_time, period, y, r)
    np.testing.assert_array_equal(found, wanted)
    return wanted


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_c_equals_python_over_random_steps(kind: str) -> None:
    law = KINDS[kind]()
    of = program(law)
    size = record(of, 60)
    y, r = inputs(of, 2000, max(float(np.abs(size.y).max(initial=0.1)), 1e-3), seed=5)
    u = assert_equal_over(law, np.arange(2000), y, r)
    assert np.abs(u).max() > 0.0
    bounds = np.minimum(of.laws[0].upper, of.limit)
    if np.isfinite(bounds).all():
        assert 0.0 < np.mean(np.abs(u) >= bounds) < 1.0


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_c_equals_python_over_long_random_runs(kind: str) -> None:
    law = KINDS[kind]()
    y, r = inputs(program(law), LONG, 0.1, seed=6)
    assert_equal_over(law, np.arange(LONG), y, r)


def own_law(name: str) -> tuple[Any, Any]:
    """Return the law of a script without its design, that inside a governor, and the plant of the design."""
    script = fx.load_controller(name)
    design = script.design(fx.load_plant(script.PLANT))
    law = bare(design)
    return (law.law if name == "tokhi_azad_governor" else law), design.plant


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLED)
def test_every_script_equals_its_c_over_random_and_closed_loop_steps(name: str) -> None:
    law, plant = own_law(name)
    of = program(law)
    y, r = inputs(of, LONG, 0.05, seed=8)
    assert_equal_over(law, np.arange(LONG), y, r)
    period, y, r, u = closed_loop(law, plant)
    np.testing.assert_array_equal(answers(fx.compiled_c(law), law.sample_time, period, y, r), u)
    assert np.isfinite(u).all()
    assert np.abs(u).max() > 0.0


def closed_loop(law: Any, plant: Any) -> tuple[Any, Any, Any, Any]:
    """Run a law on the sampled linear plant of its design, references moving slowly; return readings and commands."""
    first = plant if isinstance(plant, fx.FirstOrder) else plant.first_order(modes=4)
    sampled = zero_order_hold(first, law.sample_time)
    rows = [[s.name for s in sampled.outputs].index(name) for name in law.measures]
    columns = [[s.name for s in sampled.inputs].index(name) for name in law.drives]
    _, r = inputs(program(law), LONG, 0.02, seed=9)
    C, D, Gamma = sampled.C[rows], sampled.D[np.ix_(rows, columns)], sampled.B[:, columns]
    x, u = np.zeros(len(sampled.A)), np.zeros(len(law.drives))
    state = initial_at(law, C @ x)
    ys, us = np.zeros((LONG, len(rows))), np.zeros((LONG, len(columns)))
    for k in range(LONG):
        ys[k] = np.clip(C @ x + D @ u, -1e6, 1e6)  # some laws do not stabilise a plant that is not theirs
        u, state = law.step(state, k * law.sample_time, ys[k], r[k])
        us[k] = u
        x = np.clip(sampled.A @ x + Gamma @ u, -1e6, 1e6)
    return np.arange(LONG), ys, r, us


def test_the_mirror_in_double_precision_is_the_law() -> None:
    for kind, made in KINDS.items():
        law = made()
        of = program(law)
        y, r = inputs(of, 200, 0.2, seed=3)
        found = mirrored(of, np.float64, np.arange(200), y, r)
        np.testing.assert_array_equal(found, answers(law, TS, np.arange(200), y, r), err_msg=kind)


@needs_compiler
@pytest.mark.parametrize("kind", ["quantised", "in time", *SLOW_KINDS])
def test_the_folder_builds_without_a_warning_and_its_test_passes(kind: str, tmp_path: Path) -> None:
    made = fx.export_law(KINDS[kind](), tmp_path / "out", name="my_law", test_steps=120)
    done = make(made.folder, "test", "sanitize")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr
    states = [int(line.rpartition("; ")[2].split()[0]) for line in done.stdout.splitlines() if "bytes of state" in line]
    assert states == [made.facts["state_bytes"], made.facts["state_bytes_float"], made.facts["state_bytes"]]


@needs_compiler
def test_a_wrong_number_in_the_code_fails_its_test(tmp_path: Path) -> None:
    made = fx.export_law(linear(), tmp_path / "out", name="my_law")
    code = made.folder / "my_law.c"
    text = code.read_text()
    first = text.index("M_BY[NX][NY]")
    number = text.index("K(0x1.", first) if "K(0x1." in text[first:] else text.index("K(-0x1.", first)
    digit = text.index("p", number) - 1
    code.write_text(text[:digit] + ("0" if text[digit] != "0" else "1") + text[digit + 1 :])
    done = make(made.folder, "test")
    assert done.returncode != 0
    assert "0 commands differ" not in done.stdout


@needs_compiler
@pytest.mark.parametrize("flags", ["-std=gnu99 -O3 -march=native", *SLOW_FLAGS])
def test_other_flags_give_the_same_numbers(flags: str, tmp_path: Path) -> None:
    made = fx.export_law(
        fx.Quantised(linear(), {"tip_displacement": 1e-4}), tmp_path / "out", name="my_law", test_steps=2000
    )
    done = make(made.folder, "test", f"FLAGS={flags}", "OPTIMISE=")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang here: apt install clang")
@pytest.mark.parametrize("kind", ["quantised", pytest.param("blended", marks=pytest.mark.slow)])
def test_clang_gives_the_same_numbers_and_has_nothing_to_say(kind: str, tmp_path: Path) -> None:
    made = fx.export_law(KINDS[kind](), tmp_path / "out", name="my_law", test_steps=100)
    done = make(made.folder, "test", "CC=clang", "OPTIMISE=-O3 -march=native -Weverything -Wno-padded "
                "-Wno-declaration-after-statement -Wno-unsafe-buffer-usage -Wno-unknown-warning-option")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_compiler
def test_fast_math_is_refused_by_the_code(tmp_path: Path) -> None:
    made = fx.export_law(linear(), tmp_path / "out", name="my_law")
    done = make(made.folder, "all", "FLAGS=-std=c99 -ffast-math")
    assert done.returncode != 0
    assert "order of sums" in done.stderr


@needs_compiler
def test_the_header_serves_c_plus_plus(tmp_path: Path) -> None:
    made = fx.export_law(fx.Delayed(blend()), tmp_path / "out", name="my_law", test_steps=20)
    user = made.folder / "build"
    user.mkdir()
    (user / "use.cpp").write_text('#include "../my_law.h"\nint main() { my_law_state s; my_law_init(&s); return 0; }\n')
    words = [str(COMPILER), "-x", "c++", "-Wall", "-Wextra", "-Werror", "-c", "use.cpp", "-o", "use.o"]
    done = subprocess.run(words, cwd=user, capture_output=True, text=True, check=False)
    if "cc1plus" in done.stderr:
        pytest.skip("no C++ compiler here: apt install g++")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["linear", "in time"])
def test_a_second_export_is_the_same_to_the_byte(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    one = fx.export_law(KINDS[kind](), tmp_path / "one", name="my_law", test_steps=50)
    two = fx.export_law(KINDS[kind](), tmp_path / "two", name="my_law", test_steps=50)
    assert one.files == two.files
    for name in one.files:
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()
    assert "2023-11-14 22:13 UTC" in (one.folder / "my_law.h").read_text()


def test_units_names_and_provenance_stand_in_the_header(tmp_path: Path) -> None:
    made = fx.export_law("tokhi_azad_pd", tmp_path / "out", plant="tokhi_azad_1994")
    text = (made.folder / "tokhi_azad_pd.h").read_text()
    for part in (
        "TOKHI_AZAD_PD_Y_JOINT1_ANGLE = 0  /* [rad] */", "TOKHI_AZAD_PD_U_JOINT1_TORQUE = 0  /* [N m] */",
        "/* value [rad], rate [rad/s], acceleration [rad/s^2] */", "limits: joint1_torque -0.3 .. 0.3 N m",
        "plant: tokhi_azad_1994 (finite_difference)", "disk margin", "delay of the command: 1 periods",
        "#define TOKHI_AZAD_PD_SAMPLE_TIME 0.001  /* s */",
    ):
        assert part in text
    readme = (made.folder / "README.md").read_text()
    assert "| y[TOKHI_AZAD_PD_Y_JOINT1_ANGLE] | joint1_angle | rad |" in readme
    assert "single precision: the command differs by at most" in readme


def test_names_that_c_does_not_allow_are_made_legal_and_different(tmp_path: Path) -> None:
    law = fx.LinearLaw(TS, ("a.b", "a-b", "A_B"), ("class",), Dy=[[1.0, 2.0, 3.0]])
    made = fx.export_law(law, tmp_path / "out", name="double")
    text = (made.folder / "double_.h").read_text()
    for part in ("DOUBLE__Y_A_B = 0", "DOUBLE__Y_A_B_2 = 1", "DOUBLE__Y_A_B_3 = 2", "DOUBLE__U_CLASS = 0"):
        assert part in text


class TestRefusals:
    """What cannot be written is refused by name, with the remedy, and leaves nothing behind."""

    def refused(self, tmp_path: Path, law: Any, *parts: str, **options: Any) -> None:
        with pytest.raises(fx.FlexctlError) as error:
            fx.export_law(law, tmp_path / "out", **options)
        for part in parts:
            assert part in str(error.value)
        assert list(tmp_path.iterdir()) == []

    def test_a_continuous_law(self, tmp_path: Path) -> None:
        law = fx.LinearLaw(0.0, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
        self.refused(tmp_path, law, "LinearLaw is continuous", "--sample-time", "--method tustin or zoh")
        self.refused(tmp_path, law, "how is the LinearLaw to be sampled", sample_time=1e-3)
        self.refused(tmp_path, law, "tustin", sample_time=1e-3, method="tustinn")

    def test_sampling_a_law_that_is_sampled(self, tmp_path: Path) -> None:
        self.refused(tmp_path, linear(), "sampled already", sample_time=1e-3)

    def test_a_class_of_the_users_own(self, tmp_path: Path) -> None:
        class Relay:
            sample_time, measures, drives, follows = TS, ("joint1_angle",), ("joint1_torque",), ()

            def initial(self) -> Any:
                return ()

            def step(self, state: Any, t: float, y: Any, r: Any) -> Any:
                return -np.sign(y), state

        self.refused(tmp_path, Relay(), "Relay is a class of its own", "fx.realised")
        self.refused(tmp_path, fx.Delayed(Relay()), "Relay is a class of its own")

        class Tuned(fx.LinearLaw):
            pass

        law = Tuned(TS, ("joint1_angle",), ("joint1_torque",), Dy=[[1.0]])
        self.refused(tmp_path, law, "Tuned is a class of its own", "Tuned.feedback()")

    def test_large_tables(self, tmp_path: Path) -> None:
        law = fx.LinearLaw(TS, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",), Dr=[[1.0, 0.0, 0.0]])
        motion = {"joint1_angle": fx.quintic(0.0, 1.0, 3.0)}
        self.refused(tmp_path, law, "72048 bytes", "--tables", references=motion)
        made = fx.export_law(law, tmp_path / "out", references=motion, tables=True, test_steps=20)
        assert made.facts["table_bytes"] == 3002 * 3 * 8

    def test_a_governed_law_without_its_references(self, tmp_path: Path) -> None:
        script = fx.load_controller("tokhi_azad_governor")
        self.refused(tmp_path, script.design(fx.load_plant(script.PLANT)), "governed law", "--scenario NAME")

    def test_options(self, tmp_path: Path) -> None:
        self.refused(tmp_path, linear(), "format of a law", to="cobol")
        self.refused(tmp_path, linear(), "option of a law as c", colour="red")
        self.refused(tmp_path, linear(), "without a script", scenario="5 deg")
        self.refused(tmp_path, linear(), "test_steps = 1", test_steps=1)
        self.refused(tmp_path, "no_such_controller", "unknown controller")
        self.refused(tmp_path, linear(), "no letter or digit", name="...")

    def test_an_unstable_law_by_itself(self, tmp_path: Path) -> None:
        law = fx.LinearLaw(TS, ("joint1_angle",), ("joint1_torque",), A=[[1e8]], By=[[1e8]], C=[[1e8]])
        self.refused(tmp_path, law, "nothing to test it by")


def test_noise_is_left_out_with_a_note(tmp_path: Path) -> None:
    law = fx.Noisy(fx.Delayed(linear()), {"tip_displacement": 1e-4}, seed=1)
    made = fx.export_law(law, tmp_path / "out", test_steps=20)
    assert any("noise (tip_displacement 0.0001) is left out" in note for note in made.notes)
    assert "noise (tip_displacement 0.0001) is left out" in (made.folder / "law.h").read_text()


def test_sampling_is_done_and_what_it_moves_is_stated(tmp_path: Path) -> None:
    law = fx.LinearLaw(0.0, ("joint1_angle",), ("joint1_torque",), A=[[-200.0]], By=[[1.0]], C=[[50.0]], Dy=[[-6.8]])
    for method in ("tustin", "zoh"):
        made = fx.export_law(law, tmp_path / method, sample_time=1e-3, method=method, test_steps=20)
        text = "\n".join(made.notes)
        assert f"by {method} every 0.001 s" in text
        # tustin: ln((1 - 0.1)/(1 + 0.1))/T = -200.67 1/s
        assert ("moved by at most: 0.671 rad/s (0.34 % of its size)" in text) == (method == "tustin")


def test_a_scenario_becomes_a_table(tmp_path: Path) -> None:
    made = fx.export_law(fx.load_controller("tokhi_azad_pd").design(fx.load_plant("tokhi_azad_1994")).law,
                         tmp_path / "out", references={"chord1_angle": fx.quintic(0.0, 0.5, 0.2)}, test_steps=20)
    assert made.facts["table_bytes"] == 202 * 3 * 8
    assert "int law_follow(" in (made.folder / "law.h").read_text()


@needs_compiler
@pytest.mark.slow
def test_the_references_of_a_governor_become_a_table(tmp_path: Path) -> None:
    made = fx.export_law("tokhi_azad_governor", tmp_path / "out", scenario="60 deg, 10 g", test_steps=60)
    assert any("governor's pace is the one of the recorded run" in note for note in made.notes)
    assert 1.0 < made.facts["table_bytes"] / (8 * 3 * 1000) < 2.0  # the move of 0.5 s at 0.4 of the pace
    assert make(made.folder, "test").returncode == 0


@needs_compiler
@pytest.mark.parametrize("single", [False, True])
def test_readings_that_are_not_finite_are_refused(single: bool) -> None:
    law = fx.compiled_c(fx.Delayed(linear()), single)
    y, r = np.full(2, 0.01), np.zeros(3)
    state = law.step(law.initial_at(y), 0.0, y, r)[1]
    for bad in (np.nan, np.inf, -np.inf):
        refused, after = law.step(state, TS, np.array([0.01, bad]), r)
        assert np.isnan(refused).all()
        np.testing.assert_array_equal(law.step(after, TS, y, r)[0], law.step(state, TS, y, r)[0])


@needs_compiler
def test_single_precision_deviates_as_stated(tmp_path: Path) -> None:
    law = fx.Delayed(linear(6, limit=1.0))
    of = program(law)
    told = record(of, 500)
    found = answers(fx.compiled_c(law, single=True), TS, told.period, told.y, told.r)
    np.testing.assert_array_equal(found, told.single.astype(float))
    assert np.abs(found - told.u).max() == told.deviation > 0.0


@needs_compiler
@pytest.mark.parametrize("kind", ["plain", "noisy"])
def test_a_run_with_the_c_law_is_the_run(kind: str) -> None:
    damped = {"model.sections": 8, "damping.kind": "modal", "damping.ratio": 0.01}
    arm = fx.load_plant("tokhi_azad_1994", overrides=damped)
    law = bare(fx.load_controller("tokhi_azad_lqg").design(arm))
    law = fx.Quantised(law, {"joint1_angle": 1e-4})
    if kind == "noisy":
        law = fx.Noisy(law, {"joint1_angle": 1e-4}, seed=2)
    move = fx.quintic(0.0, 0.3, 0.3)
    own, in_c = (fx.simulate(arm, one, move, duration=0.6) for one in (law, fx.compiled_c(law)))
    np.testing.assert_array_equal(own.y, in_c.y)
    np.testing.assert_array_equal(own.u, in_c.u)
    assert own.scores == in_c.scores


@needs_compiler
def test_margins_of_the_c_law_are_those_of_the_law() -> None:
    arm = fx.load_plant("tokhi_azad_1994")
    design = fx.load_controller("tokhi_azad_lqg").design(arm)
    made = fx.compiled_c(design)
    assert isinstance(made.law, CompiledLaw)
    keys = ("gain_margin", "phase_margin_deg", "delay_margin", "disk_margin")
    found, wanted = (d.margins["joint1_torque"] for d in (made, design))
    assert [getattr(found, key) for key in keys] == [getattr(wanted, key) for key in keys]


def test_without_a_compiler_the_loop_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(fx.NotAvailable, match=r"no-such-compiler is not installed; install gcc"):
        fx.compiled_c(linear())


def test_a_compiler_that_fails_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(fx.NotAvailable, match=r"ended with code 1; set CC to another .*in Python$"):
        fx.compiled_c(linear(n=7)).initial()
    with pytest.raises(fx.NotAvailable, match=r"failed with code 1; .* \(--no-binary\)$"):
        fx.export_law(linear(n=7), tmp_path / "out", "fmu")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fx.export_law(linear(), tmp_path / "out", name="one", test_steps=20)
    before = {path.name: path.read_bytes() for path in made.folder.iterdir()}

    def broken(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        with pytest.raises(fx.WriteError, match="No space left"):
            fx.export_law(linear(2), tmp_path / "out", name="two", test_steps=20)
    assert {path.name: path.read_bytes() for path in made.folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (made.folder / "build").mkdir()
    (made.folder / "build" / "one.o").write_bytes(b"built")
    again = fx.export_law(linear(2), tmp_path / "out", name="two", test_steps=20)
    assert sorted(p.name for p in again.folder.iterdir()) == [".flexctl-export", *sorted(again.files)]
    (made.folder / "mine.c").write_text("precious")
    with pytest.raises(fx.DefinitionError, match=r"holds mine.c, which no export wrote"):
        fx.export_law(linear(), tmp_path / "out")
    assert (made.folder / "mine.c").read_text() == "precious"


@needs_compiler
def test_cmake_builds_the_same(tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here: apt install cmake")
    made = fx.export_law(
        fx.Quantised(linear(n=3), {"tip_displacement": 1e-4}), tmp_path / "out", name="my_law", test_steps=20
    )
    for words in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
        done = subprocess.run(words, cwd=made.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["ctest"], cwd=made.folder / "build", capture_output=True, text=True, check=False)
    assert "100% tests passed, 0 tests failed out of 2" in done.stdout


def test_switches_are_where_the_law_changes() -> None:
    law = in_time()
    of = program(law)
    k = np.arange(120)
    np.testing.assert_array_equal(np.searchsorted(of.switches, k, side="right"), law.phase(k * TS))


@needs_compiler
def test_a_law_called_test_does_not_write_over_its_test(tmp_path):
    law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    made = fx.export_law(law, tmp_path / "out", name="test")
    assert {"test.c", "test_.c", "test_.h"} <= set(made.files)
    subprocess.run(["make", "test"], cwd=tmp_path / "out", check=True, capture_output=True)
