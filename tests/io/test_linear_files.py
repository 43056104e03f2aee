"""Plants and measured responses from Matrix Market, MATLAB 7.3, arrays and plant files that name them."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pytest
import scipy.io as sio
import scipy.sparse as sp

import flexctl as fx
from flexctl.machine.given import opened

M, K = np.diag([2.0, 1.0, 0.5]), np.array([[5.0, -2.0, 0.0], [-2.0, 4.0, -1.0], [0.0, -1.0, 1.0]])
B = np.array([[1.0], [0.0], [0.0]])


def group(folder, names=("arm_M", "arm_K", "arm_B")):
    for name, matrix in zip(names, (M, K, B), strict=True):
        sio.mmwrite(folder / f"{name}.mtx", sp.coo_matrix(matrix), symmetry="symmetric" if matrix is K else "general")
    return folder / f"{names[1]}.mtx"


@pytest.mark.parametrize("names", [("arm_M", "arm_K", "arm_B"), ("mass", "stiffness", "input"),
                                   ("job-1_MASS1", "job-1_STIF1", "job-1_LOAD1"), ("m", "k", "b")])
def test_a_group_of_market_files(tmp_path, names) -> None:
    found = fx.load_linear(group(tmp_path, names))
    for mine, wanted in ((found.M, M), (found.K, K), (found.B, B)):
        assert np.array_equal(mine, wanted)
    assert fx.load_plant(tmp_path / f"{names[0]}.mtx").modes().rigid_modes == 0


def test_names_come_along(tmp_path) -> None:
    path = group(tmp_path)
    (tmp_path / "arm_inputs.txt").write_text("torque [N m]\n")
    (tmp_path / "arm.mapping").write_text("  Matrix Eqn   Node  DOF\n 1  7 UX\n 2  7 ROTZ\n 3  9 UY\n")
    found = fx.load_linear(path)
    assert [str(s) for s in found.coordinates] == ["node7_UX [m]", "node7_ROTZ [rad]", "node9_UY [m]"]
    assert str(found.inputs[0]) == "torque [N m]"


def test_market_files_that_are_wrong(tmp_path) -> None:
    sio.mmwrite(tmp_path / "thing.mtx", sp.eye(3))
    with pytest.raises(fx.DefinitionError, match=r"which matrix is it\? Call it thing_K.mtx"):
        fx.load_linear(tmp_path / "thing.mtx")
    (tmp_path / "bad_K.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 x\n")
    with pytest.raises(fx.DefinitionError, match=r"bad_K\.mtx: damaged, or not a Matrix Market file"):
        fx.load_linear(tmp_path / "bad_K.mtx")
    sio.mmwrite(tmp_path / "half_K.mtx", sp.coo_matrix(K))
    with pytest.raises(fx.DefinitionError, match="M missing"):
        fx.load_linear(tmp_path / "half_K.mtx")
    with pytest.raises(fx.DefinitionError, match="cannot read"):
        fx.load_linear(tmp_path / "none_K.mtx")


def newer(path):
    """Write a plant as MATLAB 7.3 does."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, matrix in (("A", [[0.0, 1.0], [-4.0, -0.1]]), ("B", [[0.0], [1.0]]), ("D", [[0.25]])):
            file.create_dataset(name, data=np.array(matrix).T).attrs["MATLAB_class"] = np.bytes_("double")
        text = np.frombuffer("torque".encode("utf-16-le"), np.uint16)[:, None]
        file.create_dataset("#refs#/a", data=text).attrs["MATLAB_class"] = np.bytes_("char")
        cell = np.array([[file["#refs#/a"].ref]], dtype=h5py.ref_dtype)
        file.create_dataset("inputs", data=cell).attrs["MATLAB_class"] = np.bytes_("cell")
        sparse = file.create_group("C")
        sparse.attrs["MATLAB_sparse"], sparse.attrs["MATLAB_class"] = np.uint64(1), np.bytes_("double")
        sparse["data"], sparse["ir"], sparse["jc"] = [3.0], np.array([0], np.uint64), np.array([0, 1, 1], np.uint64)
        file.create_group("settings").attrs["MATLAB_class"] = np.bytes_("struct")
    with open(path, "r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def test_matlab_73(tmp_path) -> None:
    newer(tmp_path / "new.mat")
    found = fx.load_linear(tmp_path / "new.mat")
    assert found.A.tolist() == [[0.0, 1.0], [-4.0, -0.1]]
    assert (found.C.tolist(), found.D.tolist(), fx.names(found.inputs)) == ([[3.0, 0.0]], [[0.25]], ["torque"])
    assert fx.simulate(found, inputs={"torque": fx.bang_bang(1.0, 0.1)}, duration=0.3).t.size == 301
    data = (tmp_path / "new.mat").read_bytes()
    (tmp_path / "cut.mat").write_bytes(data[: len(data) // 3])
    with pytest.raises(fx.DefinitionError, match=r"cut\.mat: damaged"):
        fx.load_linear(tmp_path / "cut.mat")


def test_matlab_73_without_h5py(tmp_path, monkeypatch) -> None:
    newer(tmp_path / "new.mat")
    usual = builtins.__import__

    def without(name, *rest, **more):
        if name == "h5py":
            raise ImportError(name)
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(fx.NotAvailable, match=r"install h5py .*flexctl\[hdf5\].*'-v7'"):
        fx.load_linear(tmp_path / "new.mat")


def cell(texts):
    column = np.empty((len(texts), 1), object)
    column[:, 0] = texts
    return column


@pytest.mark.parametrize("suffix", [".mat", ".npz"])
def test_measured_responses(tmp_path, suffix) -> None:
    w = np.geomspace(1.0, 10.0, 20)
    H = np.array([[1.0 / (4.0 - w**2 + 0.1j * w)], [1j * w / (4.0 - w**2 + 0.1j * w)]])
    content = {"frequency_hz": w / (2 * np.pi), "response": H, "sigma": 0.01 * np.abs(H)}
    path = tmp_path / f"frf{suffix}"
    if suffix == ".mat":
        sio.savemat(path, {**content, "outputs": cell(["angle", "rate"]), "output_units": cell(["rad", "rad/s"])})
    else:
        np.savez(path, **content, outputs=["angle", "rate"], output_units=["rad", "rad/s"])
    found = opened(path)
    assert found.source is None
    assert found.omega == pytest.approx(w)
    assert found.response == pytest.approx(H)
    assert found.sigma == pytest.approx(0.01 * np.abs(H))
    assert [str(s) for s in found.outputs] == ["angle [rad]", "rate [rad/s]"]
    with pytest.warns(fx.DataWarning, match="a plant fitted to its lines"):
        assert fx.load_plant(path).modes().frequencies_hz == pytest.approx([1.0 / np.pi], rel=1e-6)
    np.savez(tmp_path / "odd.npz", omega=w, response=H[:, :, :5])
    with pytest.raises(fx.DefinitionError, match=r"response has shape .* give \(outputs, inputs, 20\)"):
        opened(tmp_path / "odd.npz")


@pytest.mark.parametrize("suffix", [".mat", ".npz", ".json"])
def test_names_with_units_in_brackets(tmp_path, suffix) -> None:
    """As `from_matrices` and records take them, first and second order."""
    first = {"A": [[0.0, 1.0], [-4.0, -0.1]], "B": [[0.0], [1.0]], "C": [[1.0, 0.0]], "D": [[0.0]]}
    second = {"M": [[1.0]], "K": [[4.0]], "B": [[1.0]], "C": [[1.0]]}
    path = tmp_path / f"plant{suffix}"
    for matrices in (first, second):
        texts = {"inputs": ["motor [N m]"], "outputs": ["angle [rad]"]}
        if suffix == ".json":
            path.write_text(json.dumps({**matrices, **texts}))
        elif suffix == ".npz":
            np.savez(path, **{key: np.array(value) for key, value in matrices.items()}, **texts)
        else:
            sio.savemat(path, {**matrices, **{key: cell(value) for key, value in texts.items()}})
        plant = fx.load_linear(path)
        assert [(s.name, s.unit) for s in (*plant.inputs, *plant.outputs)] == [("motor", "N m"), ("angle", "rad")]


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_lines_below_zero_are_refused(tmp_path, suffix) -> None:
    path = tmp_path / f"frf{suffix}"
    if suffix == ".npz":
        np.savez(path, omega=[-1.0, 2.0, 3.0, 4.0], response=np.ones((1, 1, 4)))
    else:
        lines = "".join(f"{f},1,{f}\n" for f in (-1, 2, 3, 4))
        path.write_text("frequency [Hz],angle/torque:real [rad/(N m)],angle/torque:imag [rad/(N m)]\n" + lines)
    with pytest.raises(fx.DefinitionError, match=rf"frf{suffix}: .*omega begins at -"):
        opened(path)


def test_units_of_a_response_that_do_not_fit_its_names(tmp_path) -> None:
    path, w = tmp_path / "frf.npz", np.geomspace(1.0, 10.0, 20)
    H = np.ones((2, 1, 20), complex)
    np.savez(path, omega=w, response=H, outputs=["angle", "rate"], output_units=["rad"])
    with pytest.raises(fx.DefinitionError, match="output_units has 1 entries for 2 names"):
        opened(path)


def test_a_plant_file_of_matrices(tmp_path) -> None:
    group(tmp_path)
    np.savez(tmp_path / "more.npz", Cq=[[0.0, 0.0, 1.0]])
    text = (
        'title = "three masses"\n[model]\nkind = "matrices"\nM = "arm_M.mtx"\nK = "arm_K.mtx"\n'
        'B = [[1.0], [0.0], [0.0]]\n'
        'Cq = "more.npz:Cq"\ndamping_ratio = 0.02\ninputs = ["force [N]"]\noutputs = ["end [m]"]\n'
        '[provenance]\n"model.K" = "published: somewhere"\n'
    )
    path = tmp_path / "three.toml"
    path.write_text(text)
    plant = fx.load_plant(path)
    assert (plant.name, plant.title) == ("three", "three masses")
    assert plant.modes().damping == pytest.approx([0.02] * 3)
    assert np.array_equal(plant.linearise().K, K)
    changed = fx.load_plant(path, overrides={"mode.2.damping": 0.1, "output.end.gain": 2.0})
    assert changed.modes().damping == pytest.approx([0.02, 0.1, 0.02])
    for wrong, message in (
        (text + "[[link]]\nlength = 1.0\n", r"\[link\] beside model.kind"),
        (text.replace("arm_M", "none_M"), r"model.M = .*there is no file"),
        (text.replace('"more.npz:Cq"', '"more.npz:C"'), 'unknown model.Cq: matrix in more.npz "C"'),
        (text.replace("damping_ratio", "damping_rato"), 'unknown key of .model. "damping_rato"'),
        (text.replace("damping_ratio = 0.02", 'D = "arm_K.mtx"\ndamping_ratio = 0.02'), "both given"),
        (text.replace('"model.K" =', '"model.X" ='), "has no such key"),
    ):
        path.write_text(wrong)
        with pytest.raises(fx.DefinitionError, match=message):
            fx.load_plant(path)


def test_names_with_units_as_records_have_them() -> None:
    plant = fx.from_matrices(A=[[-1.0]], B=[[1.0]], C=[[1.0]], inputs=["hub torque [N m]"], outputs=["y[0]"])
    assert [(s.name, s.unit) for s in plant.inputs] == [("hub torque", "N m")]
    assert fx.names(plant.outputs) == ["y[0]"]


def test_complex_matrices_and_structures_are_named(tmp_path) -> None:
    sio.savemat(tmp_path / "loss.mat", {"M": M, "K": K * (1.0 + 0.02j)})
    with pytest.raises(fx.DefinitionError, match=r"K is complex.*loss factor.*a damping D"):
        fx.load_linear(tmp_path / "loss.mat")
    sio.savemat(tmp_path / "struct.mat", {"sys": {"A": K, "B": B}})
    with pytest.raises(fx.DefinitionError, match="structures and objects are not looked into"):
        fx.load_linear(tmp_path / "struct.mat")
