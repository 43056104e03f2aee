"""Plants through files and across the border to python-control: identical, readable by others, never half-written."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import beams
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from flexctl.errors import DefinitionError, NotAvailable, WriteError
from flexctl.io.python_control import from_control, from_matrices, load_linear, nonlinear, save_linear
from flexctl.linear import FirstOrder, SecondOrder
from flexctl.linear.realise import first_order
from flexctl.model import LinearMechanics, OperatingPoint, OutputTangent, Signal, names

SUFFIXES = ("mat", "npz", "json")


def assert_identical(found, expected):
    """Every field equal; arrays bit for bit."""
    assert type(found) is type(expected)
    for field in fields(expected):
        a, b = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(b, np.ndarray):
            assert a.shape == b.shape, field.name
            assert a.dtype == b.dtype, field.name
            assert a.tobytes() == b.tobytes(), field.name
        elif isinstance(b, OperatingPoint):
            assert_identical(a, b)
        else:
            assert a == b, field.name


def signals(prefix: str, count: int) -> tuple[Signal, ...]:
    return tuple(Signal(f"{prefix}_{i}", "rad/s²" if i else "", "déjà vu, 90° " if i else "") for i in range(count))


def awkward(n: int, p: int, ny: int, closures: int = 0) -> SecondOrder:
    """A plant with every number irrational, an operating point, a basis, odd labels and provenance."""
    rng = np.random.default_rng(n + 10 * p)
    X = rng.standard_normal((n, n))
    M = X @ X.T + np.eye(n)
    B, C = rng.standard_normal((n, p)), [rng.standard_normal((ny, n)) for _ in range(3)]
    C[0][:, 0] = -0.0
    point = OperatingPoint(
        *rng.standard_normal((3, n + closures)), rng.standard_normal(p), rng.standard_normal(closures)
    )
    provenance = {
        "plant": "awkward",
        "overrides": {"payload.mass": 0.1 / 3},
        "list": [1, None, True, "é"],
        "version": "0.1",
    }
    return SecondOrder(
        M, 0.01 * M, 1e9 * (M + np.eye(n)) / 3, B, *C, rng.standard_normal((ny, p)), signals("q", n), signals("u", p),
        signals("a rather long name for an output that no MATLAB variable could have", ny), point,
        rng.standard_normal((n + closures, n)) if closures else None, provenance,
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("sizes", [(3, 2, 2, 1), (1, 1, 1, 0), (4, 0, 1, 0), (2, 1, 0, 0)])
def test_plants_come_back_identical(tmp_path, sizes, suffix):
    plant = awkward(*sizes)
    path = save_linear(plant, tmp_path / f"plant.{suffix}")
    assert_identical(load_linear(path), plant)
    realised = first_order(plant)
    assert_identical(load_linear(save_linear(realised, path)), realised)
    assert os.listdir(tmp_path) == [f"plant.{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), min_size=4, max_size=4),
    number=st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_label_and_number_comes_back(tmp_path_factory, suffix, texts, number):
    plant = from_matrices(A=[[number]], B=[1.0], C=[1.0], provenance={texts[3]: number})
    plant = replace(plant, states=(Signal(*texts[:3]),), inputs=(Signal(texts[2], texts[1], texts[0]),))
    path = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    assert_identical(load_linear(save_linear(plant, path)), plant)


def test_sampled_plants_keep_their_sample_time(tmp_path):
    plant = beams.hub_beam(3, ratio=0.01).discrete(1e-3)
    for suffix in SUFFIXES:
        assert_identical(load_linear(plant.save(tmp_path / f"sampled.{suffix}")), plant)


def test_mat_file_is_plain_for_others(tmp_path):
    plant = beams.hub_beam(4, ("torque", "force"), ratio=0.01)
    content = scipy.io.loadmat(save_linear(plant, tmp_path / "plant.mat"))
    realised = first_order(plant)
    for name in "ABCD":
        assert np.array_equal(content[name], getattr(realised, name))
    for name, stored in {"M": "M", "D": "Damping", "K": "K", "B": "B_force", "Cq": "Cq", "Du": "Du"}.items():
        assert np.array_equal(content[stored], getattr(plant, name))
    assert [str(c[0]) for c in content["inputs"].ravel()] == ["torque", "force"]
    assert [str(c[0]) for c in content["states"].ravel()] == names(realised.states)
    assert content["form"].item() == "modal"
    assert json.loads(content["provenance"].item()) == plant.provenance
    assert all(name.isidentifier() and len(name) <= 31 for name in content if not name.startswith("__"))


@pytest.mark.skipif(shutil.which("octave") is None, reason="Octave is not installed: apt install octave")
def test_octave_reads_the_same_response(tmp_path):
    plant = beams.hub_beam(4, ratio=0.02)
    save_linear(plant, tmp_path / "plant.mat")
    program = (
        "load plant.mat; s = 20i; G = C * ((s * eye(rows(A)) - A) \\ B) + D;"
        "H = (Cq + s * Cv + s^2 * Ca) * ((s^2 * M + s * Damping + K) \\ B_force) + Du;"
        'printf("%.17g %.17g %.17g %s\\n", real(G(2)), imag(G(2)), norm(G - H) / norm(G), outputs{2});'
    )
    run = subprocess.run(
        ["octave", "--no-gui", "--no-init-file", "--eval", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    real, imag, error, name = run.stdout.split()
    s = 20j
    expected = plant.Cq @ np.linalg.solve(s * s * plant.M + s * plant.D + plant.K, plant.B)
    assert complex(float(real), float(imag)) == pytest.approx(expected[1, 0], rel=1e-9)
    assert float(error) < 1e-9
    assert name == "tip"


def test_json_is_one_object_with_all_digits(tmp_path):
    content = json.loads(save_linear(awkward(2, 1, 1), tmp_path / "plant.json").read_text())
    assert content["M"] == awkward(2, 1, 1).M.tolist()
    assert content["output_units"] == [""]


def test_impulsive_plant_is_saved_without_a_first_order_form(tmp_path):
    plant = from_matrices(np.diag([1.0, 0.0]), None, np.eye(2), np.eye(2), Cv=np.eye(2))
    for suffix in SUFFIXES:
        path = save_linear(plant, tmp_path / f"plant.{suffix}")
        assert_identical(load_linear(path), plant)
    content = json.loads(path.read_text())
    assert content["form"] == "none"
    assert "derivative" in content["form_note"]
    assert "A" not in content


# --- bad paths and bad files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plant.csv", "plant", "plant.matt"])
def test_unknown_suffix_names_the_three(tmp_path, name):
    for act in (lambda p: save_linear(awkward(1, 1, 1), p), load_linear):
        with pytest.raises(DefinitionError, match=r"\.mat, \.npz, \.json"):
            act(tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_unwritable_paths_leave_nothing(tmp_path, suffix):
    (tmp_path / "file").write_text("")
    (tmp_path / f"folder.{suffix}").mkdir()
    for path in (
        tmp_path / "nowhere" / f"p.{suffix}",
        tmp_path / "file" / f"p.{suffix}",
        tmp_path / f"folder.{suffix}",
    ):
        with pytest.raises(DefinitionError, match="folder"):
            save_linear(awkward(1, 1, 1), path)
    assert sorted(os.listdir(tmp_path)) == ["file", f"folder.{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch, suffix, failure):
    path = save_linear(awkward(1, 1, 1), tmp_path / f"plant.{suffix}")
    before = path.read_bytes()

    def fail(*_):
        raise failure

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else WriteError):
        save_linear(awkward(3, 2, 2), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_values_json_cannot_hold_are_refused(tmp_path):
    plant = awkward(1, 1, 1)
    point = replace(plant.operating_point, q=np.array([np.nan]))
    with pytest.raises(DefinitionError, match="operating_q"):
        save_linear(replace(plant, operating_point=point), tmp_path / "plant.json")
    assert os.listdir(tmp_path) == []


def test_provenance_may_hold_paths_and_numpy_numbers(tmp_path):
    plant = replace(
        awkward(1, 1, 1), provenance={"source": Path("a/b.toml"), "mass": np.float64(0.1), "list": np.arange(2)}
    )
    loaded = load_linear(save_linear(plant, tmp_path / "plant.npz"))
    assert loaded.provenance == {"source": str(Path("a/b.toml")), "mass": 0.1, "list": [0, 1]}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_file_is_named(tmp_path, suffix):
    with pytest.raises(DefinitionError, match=f"gone.{suffix}"):
        load_linear(tmp_path / f"gone.{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(position=st.floats(0, 1), junk=st.binary(min_size=1, max_size=40), cut=st.booleans())
def test_damaged_files_raise_nothing_but_definition_errors(tmp_path_factory, suffix, position, junk, cut):
    folder = tmp_path_factory.getbasetemp()
    data = save_linear(awkward(2, 1, 1), folder / f"whole.{suffix}").read_bytes()
    at = int(position * len(data))
    path = folder / f"damaged.{suffix}"
    path.write_bytes(data[:at] + junk + (b"" if cut else data[at + len(junk) :]))
    with contextlib.suppress(DefinitionError):  # a changed digit is still a plant
        assert isinstance(load_linear(path), SecondOrder | FirstOrder)


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(data=st.binary(max_size=300))
def test_any_bytes_raise_nothing_but_definition_errors(tmp_path_factory, suffix, data):
    path = tmp_path_factory.getbasetemp() / f"bytes.{suffix}"
    path.write_bytes(data)
    with pytest.raises(DefinitionError):
        load_linear(path)


def test_own_files_with_a_missing_or_misfitting_part(tmp_path):
    path = save_linear(awkward(2, 1, 1), tmp_path / "plant.json")
    content = json.loads(path.read_text())
    for change, message in (
        ({"K": None}, "K is missing"),
        ({"K": [[1.0]]}, "K does not fit"),
        ({"inputs": ["a", "b"]}, "input_units has 1 entries for 2 names"),
        ({"kind": "ThirdOrder"}, "unknown kind"),
        ({"flexctl_format": 99.0}, "newer"),
        ({"provenance": "{"}, "provenance is damaged"),
    ):
        changed = {k: v for k, v in {**content, **change}.items() if v is not None}
        path.write_text(json.dumps(changed))
        with pytest.raises(DefinitionError, match=message):
            load_linear(path)


# --- users' own matrices ---------------------------------------------------------------------------------------------


def test_minimal_matlab_file_with_sparse_matrices_vectors_and_scalars(tmp_path):
    plant = beams.hub_beam(3)
    content = {
        "M": scipy.sparse.csc_matrix(plant.M), "K": scipy.sparse.csc_matrix(plant.K), "B": plant.B.ravel(),
        "Cq": plant.Cq[1], "Du": 0.0, "n": 7.0, "ans": "text", "inputs": np.array(["torque"], dtype=object),
        "input_units": "N m",
    }
    scipy.io.savemat(tmp_path / "mine.mat", content, oned_as="row")
    loaded = load_linear(tmp_path / "mine.mat")
    assert np.array_equal(loaded.M, plant.M)
    assert np.array_equal(loaded.B, plant.B)
    assert np.array_equal(loaded.Cq, plant.Cq[1:])
    assert not loaded.D.any()
    assert loaded.inputs == (Signal("torque", "N m"),)
    assert names(loaded.outputs) == ["y1"]
    assert loaded.provenance == {"plant": "mine", "source": "mine.mat", "symmetric": True}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_first_order_file(tmp_path, suffix):
    A, B, C = np.array([[0.0, 1.0], [-4.0, -0.1]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]])
    content = {"A": A, "B": B, "C": C, "D": 0.0, "Ts": 0.01}
    path = tmp_path / f"mine.{suffix}"
    if suffix == "mat":
        scipy.io.savemat(path, content)
    elif suffix == "npz":
        np.savez(path, **content)
    else:
        path.write_text(json.dumps({k: np.asarray(v).tolist() for k, v in content.items()}))
    loaded = load_linear(path)
    assert isinstance(loaded, FirstOrder)
    assert np.array_equal(loaded.A, A)
    assert loaded.dt == 0.01
    assert names(loaded.states) == ["x1", "x2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"M": np.eye(2), "Kk": np.eye(2)}, "unknown matrix|K missing"),
        ({"mass": np.eye(2), "K": np.eye(2)}, 'unknown matrix "mass" .did you mean "M"'),
        ({"M": np.eye(2), "K": np.eye(2), "dampng": np.eye(2)}, 'did you mean "D"'),
        ({"M": np.eye(2), "K": np.eye(2), "k": np.eye(2), "b": np.eye(2)}, 'did you mean "B"'),
        ({"M": np.eye(2)}, "K missing"),
        ({"x": np.eye(2)}, "M and K missing"),
        ({"M": np.eye(2), "K": np.eye(2), "A": np.eye(2)}, "keep one set"),
        ({"M": np.eye(2), "K": np.eye(3)}, "K is 3 x 3; it must be 2 x 2"),
        ({"M": np.eye(2), "K": np.eye(2), "C": np.eye(2)}, "call the damping D"),
        ({"M": np.eye(2), "K": np.eye(2), "D": np.eye(2), "Damping": np.eye(2)}, "another name for the same"),
        ({"M": np.eye(2), "K": np.eye(2) * (1 + 1j)}, "complex"),
        ({"M": np.eye(2), "K": np.diag([1.0, np.inf])}, r"not finite, at \(2, 2\)"),
        ({"A": np.eye(2), "B": np.ones((3, 1))}, "B is 3 x 1; it needs 2 rows"),
    ],
)
def test_bad_user_files_say_what_to_change(tmp_path, content, message):
    scipy.io.savemat(tmp_path / "mine.mat", content)
    with pytest.raises(DefinitionError, match=message) as caught:
        load_linear(tmp_path / "mine.mat")
    assert "mine.mat" in str(caught.value)


def test_lower_case_variables_of_a_workspace_do_not_matter(tmp_path):
    scipy.io.savemat(
        tmp_path / "mine.mat", {"M": np.eye(2), "K": np.eye(2), "k": 3.0, "x0": np.ones(2), "m": np.eye(3)}
    )
    assert isinstance(load_linear(tmp_path / "mine.mat"), SecondOrder)


def test_closure_matrix_equals_the_eliminated_system():
    """A beam's tip on a spring-loaded slider, tied by one equation, against the same thing assembled directly."""
    beam = beams.cantilever(6)
    n = beam.M.shape[0]
    M, K = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    M[:n, :n], K[:n, :n] = beam.M, beam.K
    M[n, n], K[n, n] = 0.3, 500.0
    G = np.zeros(n + 1)
    G[n - 2], G[n] = 1.0, -2.0  # the slider moves half as far as the tip
    B, C = np.zeros(n + 1), np.zeros(n + 1)
    B[n], C[n] = 1.0, 1.0
    tied = from_matrices(M, None, K, B, C, G=G, coordinates=[*(f"beam{i}" for i in range(n)), "slider"])
    assert tied.basis.shape == (n + 1, n)
    direct = replace(beam, D=0 * beam.D, M=beam.M.copy(), K=beam.K.copy(), B=beam.B / 2, Cq=beam.Cq / 2)
    direct.M[n - 2, n - 2] += 0.3 / 4
    direct.K[n - 2, n - 2] += 500.0 / 4
    for s in (3.0j, 40.0j, 1.0 + 500.0j):
        found, expected = ((p.Cq @ np.linalg.solve(s * s * p.M + p.K, p.B)).item() for p in (tied, direct))
        assert found == pytest.approx(expected, rel=1e-10)
    full = tied.basis @ np.ones(n)
    assert G @ full == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"M": np.eye(2)}, "K is missing"),
        ({"M": np.eye(2), "K": np.eye(2), "A": np.eye(2)}, "give one set"),
        ({"A": np.eye(2), "Du": np.eye(2)}, "Du belongs to .* is D"),
        ({"M": np.ones((2, 3)), "K": np.eye(2)}, "M is 2 x 3; it must be square"),
        ({"M": np.eye(2), "K": [[1, 2], [3, "x"]]}, "not a matrix of numbers"),
        ({"M": np.eye(2), "K": np.eye(2), "B": np.ones(3)}, "B is 3 x 1; it needs 2 rows"),
        ({"M": np.eye(2), "K": np.eye(2), "Cq": np.ones(2), "Cv": np.ones((2, 2))}, "rows"),
        ({"M": np.eye(2), "K": np.eye(2), "G": np.ones((1, 3))}, "G is 1 x 3; it needs 2 columns"),
        ({"M": np.eye(3), "K": np.eye(3), "G": np.ones((2, 3))}, "redundant"),
        ({"M": np.eye(2), "K": np.eye(2), "G": np.eye(2)}, "some motion must remain"),
        ({"M": np.eye(2), "K": np.eye(2), "coordinates": ["a"]}, "1 coordinate names for 2"),
        ({"M": np.eye(2), "K": np.eye(2), "coordinates": ["a", "a"]}, 'two coordinates are called "a"'),
        ({"M": np.eye(2), "K": np.eye(2), "coordinates": ["a", "b.c"]}, "python-control"),
        ({"M": np.eye(2), "K": np.eye(2), "dt": 0.1}, "continuous"),
        ({"A": np.eye(2), "B": np.eye(2), "D": np.ones((3, 2))}, "D is 3 x 2; outputs and inputs ask for 2 x 2"),
        ({"A": np.eye(2), "dt": -1.0}, "dt = -1"),
        ({}, "M is missing"),
    ],
)
def test_wrong_matrices_are_refused(arguments, message):
    with pytest.raises(DefinitionError, match=message):
        from_matrices(**arguments)


# --- python-control --------------------------------------------------------------------------------------------------


def test_from_control_keeps_labels_and_sample_time():
    import control

    system = control.ss(
        [[0.5]], [[1.0, 2.0]], [[3.0]], [[0.0, 1.0]], 0.1, inputs=["a", "b"], outputs=["tip"], states=["z"]
    )
    plant = from_control(system)
    assert (names(plant.states), names(plant.inputs), names(plant.outputs), plant.dt) == (
        ["z"],
        ["a", "b"],
        ["tip"],
        0.1,
    )
    assert_identical(from_control(plant.statespace()), plant)
    lag = from_control(control.tf([1.0], [2.0, 1.0], inputs=["e"], outputs=["u"]))
    assert (names(lag.inputs), lag.poles()[0]) == (["e"], pytest.approx(-0.5))


def test_from_control_refuses_what_has_no_states():
    import control

    with pytest.raises(NotAvailable):
        from_control(control.frd([1.0], [1.0]))
    with pytest.raises(DefinitionError, match="sample time"):
        from_control(control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], True))


class Beam(LinearMechanics):
    """A linear plant in the role of a model."""

    kind = "beam"

    def __init__(self, plant: SecondOrder) -> None:
        self.M, self.D, self.K, self.B = plant.M, plant.D, plant.K, plant.B
        self.coordinates, self.inputs, self.outputs = plant.coordinates, plant.inputs, plant.outputs
        self.sensors = OutputTangent(plant.Cq, plant.Cv, plant.Ca, plant.Du)


def test_nonlinear_system_has_the_names_and_the_motion_of_the_model():
    plant = beams.hub_beam(2, outputs=("hub", "tip_acceleration"), ratio=0.01)
    system = nonlinear(Beam(plant))
    assert system.input_labels == ["torque"]
    assert system.output_labels == ["hub", "tip_acceleration"]
    assert system.state_labels == [*names(plant.coordinates), *(f"{c}_rate" for c in names(plant.coordinates))]
    physical = first_order(plant, "physical")
    x, u = np.random.default_rng(0).standard_normal(10), np.array([0.7])
    assert system.dynamics(0.0, x, u) == pytest.approx(physical.A @ x + physical.B @ u, rel=1e-9)
    assert system.output(0.0, x, u) == pytest.approx(physical.C @ x + physical.D @ u, rel=1e-9)
