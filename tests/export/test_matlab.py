"""MATLAB export: text that is right by itself, and what Octave makes of it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from test_tabular import Requirements

import flexctl as fx
from flexctl.export.matlab.text import cells, matrix, quoted
from flexctl.linear import FirstOrder
from flexctl.model import Signal, names

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")


def octave(program: str, folder: Path) -> str:
    """Run a program in Octave and return what it prints."""
    assert OCTAVE is not None
    words = [OCTAVE, "--no-gui", "--no-init-file", "--quiet", "--eval", program]
    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stderr
    return run.stdout


def has_control() -> bool:
    if OCTAVE is None:
        return False
    words = [OCTAVE, "--no-gui", "--no-init-file", "--eval", "pkg load control; disp(exist('ss'))"]
    return subprocess.run(words, capture_output=True, timeout=120).returncode == 0


needs_octave = pytest.mark.skipif(OCTAVE is None, reason="Octave is not installed: apt install octave octave-control")
needs_control = pytest.mark.skipif(
    not has_control(), reason="Octave with its control package is not installed: apt install octave octave-control"
)

KEEP = (
    "warning('off', 'all');"
    "function keep(name, sys)\n"
    "  [A, B, C, D] = ssdata(sys); dt = get(sys, 'tsam'); x = struct('A', A, 'B', B, 'C', C, 'D', D, 'dt', dt);\n"
    "  x.poles = pole(sys); x.inputs = sys.inname; x.outputs = sys.outname; x.states = sys.stname;\n"
    "  x.lti = double(isa(sys, 'lti')); save('-v7', [name '_found.mat'], '-struct', 'x');\nend\n"
)


def found(folder: Path, name: str) -> dict:
    content = scipy.io.loadmat(folder / f"{name}_found.mat")
    for key in ("inputs", "outputs", "states"):
        content[key] = [str(cell[0]) if cell.size else "" for cell in content[key].ravel()]
    return content


def assert_rebuilt(content: dict, plant: FirstOrder) -> None:
    for key in "ABCD":
        assert content[key].reshape(getattr(plant, key).shape).tobytes() == np.asarray(getattr(plant, key)).tobytes()
    assert content["lti"].item() == 1.0
    assert content["dt"].item() == plant.dt
    assert (content["inputs"], content["outputs"]) == (names(plant.inputs), names(plant.outputs))
    if plant.states:
        assert content["states"] == names(plant.states)


def assert_same_poles(ours: np.ndarray, theirs: np.ndarray, cluster: float) -> None:
    """Equal to 1e-9 outside the cluster of the rigid motion, which any eigenvalue code spreads."""
    theirs = theirs.ravel()
    size = np.abs(ours).max()
    for pole in ours:
        if abs(pole) > cluster:
            assert np.abs(theirs - pole).min() <= 1e-9 * max(abs(pole), 1e-3 * size)
    assert np.sum(np.abs(ours) <= cluster) == np.sum(np.abs(theirs) <= cluster)


@needs_control
def test_octave_rebuilds_the_plant_bit_for_bit(tmp_path):
    fx.export_plant("tokhi_azad_1994", tmp_path / "out", "matlab")
    octave(KEEP + "keep('a', tokhi_azad_1994());", tmp_path / "out")
    plant = fx.load_plant("tokhi_azad_1994").linearise().first_order()
    content = found(tmp_path / "out", "a")
    assert_rebuilt(content, plant)
    assert_same_poles(plant.poles(), content["poles"], 1e-4)
    saved = scipy.io.loadmat(tmp_path / "out" / "tokhi_azad_1994.mat")
    assert all(np.array_equal(saved[key], content[key]) for key in "ABCD")


@needs_control
@pytest.mark.parametrize("name", ["planar_2r_flexible", "ralf"])
def test_octave_rebuilds_plants_of_many_inputs(tmp_path, name):
    fx.export_plant(name, tmp_path / "out", "matlab", **({"modes": 6} if name == "planar_2r_flexible" else {}))
    octave(KEEP + f"keep('a', {name}());", tmp_path / "out")
    plant = fx.load_plant(name).linearise().first_order("modal", 6 if name == "planar_2r_flexible" else None)
    assert_rebuilt(found(tmp_path / "out", "a"), plant)


@needs_control
def test_octave_closes_the_loop_that_is_told(tmp_path):
    """law, plant and loop of one file: feedback of the first two in Octave has the poles of the third."""
    made = fx.export_law("tokhi_azad_lqg", tmp_path / "out", "matlab")
    assert made.facts["systems"] == ["law", "plant", "loop"]
    program = (
        KEEP + "[law, plant, loop] = tokhi_azad_lqg();"
        "keep('law', law); keep('plant', plant); keep('loop', loop);"
        "sampled = c2d(plant, 1e-3); rows = [1 4]; closed = feedback(sampled(rows, 1), law(1, 1:2), 1);"
        "p = pole(closed); save('-v7', 'closed.mat', 'p');"
    )
    octave(program, tmp_path / "out")
    law, plant, loop = (found(tmp_path / "out", key) for key in ("law", "plant", "loop"))
    back = fx.load_linear(tmp_path / "out" / "tokhi_azad_lqg.mat")
    assert_rebuilt(law, back)
    assert law["inputs"][:2] == ["joint1_angle", "chord1_angle"]
    assert "chord1_angle_reference_rate" in law["inputs"]
    arm = fx.load_plant("tokhi_azad_1994")
    assert plant["outputs"] == fx.names(arm.model.outputs)
    assert [plant["outputs"][k] for k in (0, 3)] == law["inputs"][:2]
    assert "joint1_torque_disturbance" in loop["inputs"]
    p = scipy.io.loadmat(tmp_path / "out" / "closed.mat")["p"].ravel()
    ours = np.linalg.eigvals(loop["A"])
    assert np.abs(ours[:, None] - p).min(axis=1).max() < 1e-7
    design = fx.load_controller("tokhi_azad_lqg").design(arm)
    slowest = np.log(np.abs(p).max()) / 1e-3
    assert slowest == pytest.approx(float(design.poles.real.max()), rel=1e-5)


@needs_control
def test_sampled_and_static_systems_and_quotes_in_names(tmp_path):
    rng = np.random.default_rng(2)
    A = np.array([[0.1 / 3, -0.0], [5e-324, 0.5]])
    plant = FirstOrder(
        A, rng.standard_normal((2, 2)), rng.standard_normal((1, 2)), np.zeros((1, 2)),
        (Signal("it's"), Signal("b")), (Signal("a 'b'", "N m"), Signal("c")), (Signal("y;%", "m"),), 0.01,
    )
    static = FirstOrder(
        np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.array([[-2.5]]), (), (Signal("u"),), (Signal("y"),)
    )
    fx.export_plant(plant, tmp_path / "a", "matlab", name="odd")
    fx.export_plant(static, tmp_path / "b", "matlab", name="gain")
    octave(KEEP + "keep('a', odd());", tmp_path / "a")
    assert_rebuilt(found(tmp_path / "a", "a"), plant)
    told = octave("warning('off', 'all'); s = gain(); printf('%.17g', s.d);", tmp_path / "b")
    assert float(told) == -2.5


@needs_octave
def test_without_the_control_package_the_function_returns_a_struct(tmp_path):
    fx.export_plant("tokhi_azad_1994", tmp_path / "out", "matlab", name="arm", modes=2)
    # a package list that is empty stands for an Octave without the package
    program = (
        "pkg('local_list', [pwd '/none']); pkg('global_list', [pwd '/none2']); s = arm();"
        "printf('%d %s %d %s', isstruct(s), s.OutputName{2}, rows(s.A), s.InputUnit{1});"
    )
    assert octave(program, tmp_path / "out") == "1 joint1_rate 6 N m"


@needs_octave
def test_octave_reads_runs_responses_and_certificates(tmp_path):
    arm = fx.load_plant("tokhi_azad_1994")
    run = fx.simulate(arm, inputs={"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=0.05)
    response = arm.linearise().frequency_response([1.0, 10.0, 70.0])
    modes = arm.linearise().modes(3)
    certificate = Requirements()
    for name, result in (("run", run), ("response", response), ("modes", modes), ("certificate", certificate)):
        result.save(tmp_path / f"{name}.mat")
    told = octave(
        "r = load('run.mat'); f = load('response.mat'); m = load('modes.mat');"
        "printf('%.17g ', r.tip_displacement(end), numel(r.time), rows(r.columns), rows(f.columns), rows(m.columns));"
        "printf('%s ', r.columns{1}); x = r.units; printf('%d ', ischar(x));"
        "c = load('certificate.mat'); printf('%s ', c.name{:});", tmp_path,
    ).split()
    assert float(told[0]) == run["tip_displacement"][-1]
    assert int(told[1]) == run.t.size
    assert int(told[2]) == len(run._table())
    assert int(told[3]) == len(response._table())
    assert told[5:] == ["time", "1", "disk_margin", "mu"]


# --- without Octave --------------------------------------------------------------------------------------------------


def test_numbers_have_all_their_digits():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((5, 7)) * 10.0 ** rng.integers(-300, 300, (5, 7))
    rows = matrix(values).strip("[]\n").split("\n")
    assert np.array_equal([[float(x) for x in row.split(",")] for row in rows], values)
    assert matrix(np.zeros((0, 3))) == "zeros(0, 3)"


def test_texts_are_quoted_and_stay_on_their_line():
    assert quoted("it's\n100%") == "'it''s 100%'"
    assert cells([]) == "cell(0, 1)"
    assert cells(["a", "b'"]) == "{'a'; 'b'''}"


def test_exports_repeat_to_the_byte_and_mat_says_no_date(tmp_path):
    for place in ("a", "b"):
        fx.export_plant("tokhi_azad_1994", tmp_path / place, "matlab")
        fx.export_plant("tokhi_azad_1994", tmp_path / f"{place}j", "json")
    for place, suffixes in (("", (".m", ".mat")), ("j", (".json",))):
        for suffix in suffixes:
            a, b = ((tmp_path / f"{x}{place}" / f"tokhi_azad_1994{suffix}").read_bytes() for x in "ab")
            assert a == b


def test_json_and_mat_give_back_the_identical_plant(tmp_path):
    plant = fx.load_plant("tokhi_azad_1994").linearise()
    for form in ("json", "matlab"):
        fx.export_plant(plant, tmp_path / form, form, name="arm")
    for path in (tmp_path / "json/arm.json", tmp_path / "matlab/arm.mat"):
        back = fx.load_linear(path)
        assert all(np.array_equal(getattr(back, key), getattr(plant, key)) for key in ("M", "D", "K", "B", "Cq"))


def test_what_a_linear_system_cannot_say_is_noted(tmp_path):
    inner = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]]).limited(-0.3, 0.3)
    rounded = fx.Quantised(fx.Noisy(inner, {"joint1_angle": 1e-4}), {"joint1_angle": 1e-3})
    law = fx.Delayed(fx.Saturated(rounded, 0.2), 2)
    made = fx.export_law(law, tmp_path / "out", "matlab", name="law")
    told = " ".join(made.notes)
    for text in ("rounding of readings", "noise", "0.2", "-0.3 .. 0.3", "no plant is known"):
        assert text in told
    assert made.facts["systems"] == ["law"]
    back = fx.load_linear(tmp_path / "out" / "law.mat")
    assert back.poles() == pytest.approx([0.0, 0.0])
    scheduled = fx.export_law("planar_2r_scheduled", tmp_path / "s", "matlab")
    assert any("scheduled by" in note for note in scheduled.notes)


def test_laws_that_are_no_one_system_are_refused(tmp_path):
    with pytest.raises(fx.NotAvailable, match="changes with time"):
        fx.export_law("tip_circle", tmp_path / "out", "matlab")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["end", "ss", "a" * 64])
def test_names_that_matlab_does_not_take_are_refused(tmp_path, name):
    with pytest.raises(fx.DefinitionError, match="give the export another name"):
        fx.export_plant(fx.from_matrices(A=[[-1.0]], B=[[1.0]], C=[[1.0]]), tmp_path / "out", "matlab", name=name)
    assert not (tmp_path / "out").exists()


def test_twins_and_non_finite_matrices_are_refused(tmp_path):
    plant = fx.from_matrices(A=[[-1.0]], B=[[1.0]], C=[[1.0]], inputs=["u"], outputs=["y"])
    twins = replace(plant, outputs=(Signal("y"), Signal("y")), C=np.ones((2, 1)), D=np.zeros((2, 1)))
    for form in ("matlab", "fmu"):
        with pytest.raises(fx.DefinitionError, match='two outputs are called "y"'):
            fx.export_plant(twins, tmp_path / form, form)
        assert not (tmp_path / form).exists()
    import control

    broken = control.ss([[np.nan]], [[1.0]], [[1.0]], [[0.0]])
    for form in ("matlab", "fmu", "json"):
        with pytest.raises(fx.DefinitionError, match="not finite"):
            fx.export_plant(broken, tmp_path / form, form)
        assert not (tmp_path / form).exists()
