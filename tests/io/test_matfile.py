"""Our reader of MATLAB files against SciPy's writer and reader, Octave's writer, and bytes put together by hand."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from flexctl.io.matfile import read_mat

KINDS = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c16"]


def written(variables: dict, compressed: bool) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=compressed)
    return stream.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
@given(
    array=st.sampled_from(KINDS).flatmap(
        lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=4))
    )
)
def test_arrays_of_every_type_and_shape(compressed, array):
    found = read_mat(written({"a": array}, compressed))["a"]
    assert found.shape == array.shape
    assert np.array_equal(found, array, equal_nan=True)


@pytest.mark.parametrize("compressed", [False, True])
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9), max_size=5))
def test_cells_of_text(compressed, texts):
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    assert read_mat(written({"a": cells}, compressed))["a"] == texts


@given(hnp.arrays("f8", hnp.array_shapes(min_dims=2, max_dims=2), elements=st.sampled_from([0.0, 0.0, 1.5, -2.0])))
def test_sparse_matrices(full):
    for matrix in (full, full * (1 + 2j)):
        assert np.array_equal(read_mat(written({"a": scipy.sparse.csc_matrix(matrix)}, True))["a"], matrix)


def test_what_is_not_read_is_skipped():
    content = read_mat(written({"s": {"x": 1.0}, "a": 2.0, "mixed": np.array(["x", 1.0], dtype=object)}, True))
    assert list(content) == ["a"]


@pytest.mark.skipif(shutil.which("octave") is None, reason="Octave is not installed: apt install octave")
@pytest.mark.parametrize("version", ["-v6", "-v7"])
def test_files_that_octave_writes(tmp_path, version):
    program = (
        "S = sparse([1 3], [2 1], [5.5 -1], 3, 4); E = sparse(2, 3); n = int32(7); b = true; r = 1:5; st.a = 1;"
        "c = {'tip', 'é', ''; 'x', 'yy', 'z'}; t = ['ab '; 'cde']; e = ''; sc = single([1 2; 3 4]); cp = [1+2i 3];"
        f"save {version} o.mat S E n b c t e r st sc cp"
    )
    subprocess.run(
        ["octave", "--no-gui", "--no-init-file", "--eval", program], cwd=tmp_path, capture_output=True, timeout=60
    )
    found = read_mat((tmp_path / "o.mat").read_bytes())
    expected = scipy.io.loadmat(tmp_path / "o.mat")
    assert set(found) == {"S", "E", "n", "b", "c", "t", "e", "r", "sc", "cp"}
    for name in ("S", "E"):
        assert np.array_equal(found[name], expected[name].toarray())
    for name in ("n", "b", "r", "sc", "cp"):
        assert np.array_equal(found[name], expected[name])
    assert found["c"] == ["tip", "x", "é", "yy", "", "z"]
    assert (found["t"], found["e"]) == (["ab ", "cde"], "")


def element(kind: int, data: bytes, order: str) -> bytes:
    return struct.pack(order + "II", kind, len(data)) + data + bytes(-len(data) % 8)


def test_big_endian_files_with_small_elements():
    """A 1 x 2 matrix [258, -2] of 16-bit integers named x, as a Sun would write it."""
    order = ">"
    body = element(6, struct.pack(">II", 6, 0), order) + element(5, struct.pack(">ii", 1, 2), order)
    body += struct.pack(">HH", 1, 1) + b"x\0\0\0" + struct.pack(">HH", 4, 3) + struct.pack(">hh", 258, -2)
    header = b"MATLAB 5.0".ljust(124) + struct.pack(">H", 0x0100) + b"MI"
    assert read_mat(header + element(14, body, order))["x"].tolist() == [[258, -2]]


def test_sparse_logicals_are_single_bytes_called_doubles():
    body = (
        element(6, struct.pack("<II", 0x0205, 2), "<")
        + element(5, struct.pack("<ii", 2, 3), "<")
        + element(1, b"L", "<")
    )
    body += (
        element(5, struct.pack("<ii", 1, 0), "<")
        + element(5, struct.pack("<4i", 0, 1, 1, 2), "<")
        + element(9, b"\1\1", "<")
    )
    header = b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    assert read_mat(header + element(14, body, "<"))["L"].tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("kind", [0, 8, 10, 11, 14, 15, 19, 20, 255])
def test_a_wrong_type_code_is_an_error(kind):
    """SciPy 1.17 ends the process on some of these."""
    good = written({"a": np.arange(12.0).reshape(3, 4)}, False)
    at = good.index(struct.pack("<II", 9, 96))
    with pytest.raises(ValueError, match="unknown type of numbers"):
        read_mat(good[:at] + struct.pack("<I", kind) + good[at + 4 :])


@pytest.mark.parametrize("change", ["starts", "rows", "count"])
def test_sparse_matrices_with_wrong_indices_are_an_error(change):
    matrix = scipy.sparse.csc_matrix(np.array([[0.0, 1.0], [2.0, 0.0]]))
    good = written({"a": matrix}, False)
    rows, starts = struct.pack("<II2i", 5, 8, 1, 0), struct.pack("<II3i", 5, 12, 0, 1, 2)
    assert rows in good
    assert starts in good
    bad = {
        "rows": good.replace(rows, struct.pack("<II2i", 5, 8, 7, 0)),
        "starts": good.replace(starts, struct.pack("<II3i", 5, 12, 0, 3, 2)),
        "count": good.replace(starts, struct.pack("<II3i", 5, 12, 0, 1, 9)),
    }[change]
    with pytest.raises(ValueError, match="sparse"):
        read_mat(bad)
