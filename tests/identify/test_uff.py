"""Universal files as pyuff writes them: several functions, binary data longer than stated, units of dataset 164."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl import identify
from flexctl.model import FloatArray

N = 640
T = np.arange(N) / 1024.0


def written(
    values: np.ndarray, x: FloatArray, node: int, quantity: int, *, unit: str = "NONE", binary: bool = False,
    even: bool = False, per: tuple[int, str] = (0, "NONE"),
) -> bytes:
    """One dataset 58 as pyuff lays it out: all of double precision, and a stated length of 8 bytes a sample."""
    is_complex = np.iscomplexobj(values)
    head = [
        *["NONE".ljust(80)] * 5,
        f"{4 if is_complex else 1:5d}{0:10d}{0:5d}{0:10d} {'NONE':>10s}{node:10d}{3:4d} {'NONE':>10s}{7:10d}{3:4d}",
        f"{6 if is_complex else 4:10d}{values.size:10d}{int(even):10d}"
        f"{even * x[0]:13.5e}{even * (x[1] - x[0]):13.5e}{0.0:13.5e}",
        f"{17:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {'NONE':20s}",
        f"{quantity:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {unit:20s}",
        f"{per[0]:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {per[1]:20s}",
        f"{0:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {'NONE':20s}",
    ]
    columns = [] if even else [x]
    columns += [values.real, values.imag] if is_complex else [values]
    table = np.column_stack(columns)
    if binary:
        first = f"    -1\n    58b{1:6d}{2:6d}{11:12d}{8 * values.size:12d}{0:6d}{0:6d}{0:12d}{0:12d}\n"
        return (first + "\n".join(head) + "\n").encode() + struct.pack(f"<{table.size}d", *table.ravel()) + b"    -1\n"
    rows = ["".join(f"{v:13.5e}" if k == 0 and not even else f"{v:20.11e}" for k, v in enumerate(row)) for row in table]
    return ("    -1\n    58" + " " * 74 + "\n" + "\n".join([*head, *rows]) + "\n    -1\n").encode()


def units(length: float, force: float) -> bytes:
    lines = f"    -1\n   164\n{5:10d}{'mm':>20s}{2:10d}\n{length:25.17e}{force:25.17e}{1.0:25.17e}\n{273.15:25.17e}\n"
    return (lines.replace("e", "D") + "    -1\n").encode()


FORCE, PLACE = np.sin(30.0 * T) + 0.1 * np.cos(200.0 * T), 1e-3 * np.sin(30.0 * T - 0.4)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("even", [False, True])
def test_a_record_of_several_functions(binary: bool, even: bool, tmp_path: Path) -> None:
    """Times of text have six digits, those of binary data all; the increment of equal spacing has six."""
    path = tmp_path / "record.uff"
    content = written(FORCE, T, 1, 13, binary=binary, even=even)
    content += written(PLACE, T, 2, 8, binary=binary, even=even)
    path.write_bytes(content + written(1e3 * PLACE, T, 3, 8, unit="mm", binary=binary, even=even))
    found = identify.read_record(path)
    assert (fx.names(found.inputs), fx.names(found.outputs)) == (["1+Z"], ["2+Z", "3+Z"])
    assert [s.unit for s in (*found.inputs, *found.outputs)] == ["N", "m", "m"]
    assert found.dt == pytest.approx(1.0 / 1024.0, rel=5e-6)
    assert found.u[:, 0] == pytest.approx(FORCE, abs=1e-10)
    assert found.y[:, 0] == pytest.approx(PLACE, abs=1e-13)
    assert found.y[:, 1] == pytest.approx(PLACE, abs=1e-13)


@pytest.mark.parametrize("binary", [False, True])
def test_units_of_dataset_164(binary: bool, tmp_path: Path) -> None:
    """Numbers without a unit in words are divided by the factors: mm and mN; those with one keep it."""
    path = tmp_path / "mm.unv"
    content = units(1000.0, 1000.0) + written(1e3 * FORCE, T, 1, 13, binary=binary)
    content += written(1e3 * PLACE, T, 2, 8, binary=binary) + written(PLACE, T, 3, 8, unit="m", binary=binary)
    path.write_bytes(content)
    found = identify.read_record(path)
    assert found.u[:, 0] == pytest.approx(FORCE, abs=1e-9)
    assert found.y[:, 0] == pytest.approx(PLACE, abs=1e-12)
    assert found.y[:, 1] == pytest.approx(PLACE, abs=1e-12)


@pytest.mark.parametrize("even", [False, True])
def test_binary_responses_are_longer_than_they_say(even: bool, tmp_path: Path) -> None:
    f = np.arange(1, 60) * 0.5
    H = 1.0 / (4.0 - f**2 + 0.1j * f)
    path = tmp_path / "frf.uff"
    content = units(1000.0, 1.0)
    for node in (2, 3):
        content += written(node * H, f, node, 12, binary=True, even=even, per=(13, "NONE"))
    path.write_bytes(content)
    found = identify.read_frf(path)
    assert fx.names(found.outputs) == ["2+Z", "3+Z"]
    assert found.omega == pytest.approx(2 * np.pi * f, rel=1e-12)
    assert found.response[0, 0] == pytest.approx(2e-3 * H, rel=1e-12)
    assert found.response[1, 0] == pytest.approx(3e-3 * H, rel=1e-12)


def test_unequal_times_stay_refused(tmp_path: Path) -> None:
    t = T + 2e-5 * np.sin(np.arange(N))
    (tmp_path / "a.uff").write_bytes(written(FORCE, t, 1, 13) + written(PLACE, t, 2, 8))
    with pytest.raises(fx.DefinitionError, match="sampling is not equal"):
        identify.read_record(tmp_path / "a.uff")


@pytest.mark.parametrize(
    ("content", "suffix", "said"),
    [
        ("npz", ".csv", "named .csv, but by its content it is a .npz file"),
        ("csv", ".npz", "named .npz, but by its content it is text, perhaps a .csv file"),
        ("mat", ".json", "named .json, but by its content it is a .mat file"),
        ("json", ".mat", "named .mat, but by its content it is a .json file"),
        ("npz", ".uff", "named .uff, but by its content it is a .npz file"),
    ],
)
def test_files_with_another_kind_of_name(content: str, suffix: str, said: str, tmp_path: Path) -> None:
    made = identify.record(1e-3, {"torque [N m]": FORCE}, {"angle [rad]": PLACE}).save(tmp_path / f"record.{content}")
    renamed = made.rename(tmp_path / f"renamed{suffix}")
    with pytest.raises(fx.DefinitionError, match=f"renamed{suffix}: it is {said}: rename it"):
        identify.read_record(renamed)
    if suffix in (".npz", ".mat", ".json"):
        with pytest.raises(fx.DefinitionError, match=said):
            fx.load_plant(renamed)
