"""Measured data: what is refused and warned of, and files of every kind."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl import identify
from flexctl.identify.quality import quantum, saturation

RNG = np.random.default_rng(0)
U = np.tile(RNG.standard_normal(100), 8)
GOOD = {"torque [N m]": U}


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({"y": U}, 'signal "y" has no unit'),
        ({"y [foo]": U}, 'unknown unit of signal "y" "foo"'),
        ({"y [m]": np.where(U > 2, np.nan, U)}, "8 values that are not numbers .* first at sample 80, t = 0.79 s"),
        ({"y [m]": U[:-1]}, "799 samples where the record has 800"),
        ({"y [m]": 0 * U}, 'output "y" is 0 m all the time'),
        ({"y [m]": [["a"] * 800]}, "array.? of real numbers"),
    ],
)
def test_outputs_that_cannot_be_used(outputs: dict[str, object], words: str) -> None:
    with pytest.raises(fx.DefinitionError, match=words):
        identify.record(1e-2, GOOD, outputs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"torque [N m]": 0 * U}, "zero all the time: nothing excites"),
        ({"torque [N m]": 0 * U + 2}, "2 N m all the time: a constant excites no mode"),
        ({}, "needs an input and an output"),
    ],
)
def test_inputs_that_excite_nothing(inputs: dict[str, object], words: str) -> None:
    with pytest.raises(fx.DefinitionError, match=words):
        identify.record(1e-2, inputs, {"y [m]": U})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: np.where(t > 4, t + 0.01, t), "samples are missing: .* after t = 4 s"),
        (lambda t: t + 1e-3 * RNG.random(800), "sampling is not equal"),
        (lambda t: t[::-1], "do not ascend"),
        (lambda t: t * np.nan, "not numbers"),
    ],
)
def test_times_that_are_not_equal(change: object, words: str) -> None:
    with pytest.raises(fx.DefinitionError, match=words):
        identify.record(change(np.arange(800) * 0.01), GOOD, {"y [m]": U})  # type: ignore[operator]


def test_too_short() -> None:
    with pytest.raises(fx.DefinitionError, match="15 samples, too few"):
        identify.record(1e-2, {"u [N]": U[:15]}, {"y [m]": U[:15]})
    with pytest.raises(fx.DefinitionError, match="too short for order 8"):
        identify.subspace(identify.record(1e-2, {"u [N]": U[:40]}, {"y [m]": U[:40]}, period=0), 8)


def test_times_with_few_digits_and_units_are_converted() -> None:
    found = identify.record(
        np.round(np.arange(800) * 1.0e-2, 4), {"torque [mNm]": U}, {"angle [deg]": U, "strain [ustrain]": U}
    )
    assert found["torque"][3] == pytest.approx(1e-3 * U[3], rel=1e-12)
    assert found["angle"][3] == pytest.approx(np.radians(U[3]), rel=1e-12)
    assert found["strain"][3] == pytest.approx(1e-6 * U[3], rel=1e-12)
    assert [s.unit for s in found.outputs] == ["rad", "1"]


def test_the_period_is_found_or_stated() -> None:
    assert identify.record(1e-2, GOOD, {"y [m]": U}).period == 100
    noisy = {"torque [N m]": U + 1e-6 * RNG.standard_normal(800)}
    assert identify.record(1e-2, noisy, {"y [m]": U}).period == 0
    assert identify.record(1e-2, noisy, {"y [m]": U}, period=2.0).period == 200
    with pytest.raises(fx.DefinitionError, match="less than two periods"):
        identify.record(1e-2, noisy, {"y [m]": U}, period=4.5)


def test_saturation_and_quantisation_are_told() -> None:
    made = identify.record(
        1e-2, {"u [N]": np.clip(U, -1, 1)}, {"a [m]": np.clip(U, -1.5, 1.5), "b [m]": np.round(U, 1)}
    )
    said = made.warnings()
    assert len(said) == 3
    assert "if an amplifier clips" in said[0]
    assert "sensor is saturated" in said[1]
    assert "quantised in steps of 0.1 m" in said[2]
    assert (
        identify.record(1e-2, {"u [N]": np.sign(U)}, {"a [m]": np.round(U, 5)}).warnings() == []
    )  # bang-bang is no fault
    with pytest.warns(fx.DataWarning) as told:
        identify.frf(made)
    assert {str(w.message) for w in told} == set(said)


def test_quantum_and_saturation_of_numbers() -> None:
    assert quantum(np.round(U / 0.25) * 0.25) == pytest.approx(0.25)
    assert quantum(U) == 0.0 or quantum(U) < 1e-6
    assert saturation(U)[0] == 0.0


def test_an_arm_that_rests_is_not_saturated() -> None:
    """At the beginning, where it has arrived, and where dry friction holds it; a sensor that is cut off is."""
    t = np.arange(0.0, 6.0, 1e-3)
    moves = np.clip(t - 1.0, 0.0, 1.0)
    cycloid = moves - np.sin(2.0 * np.pi * moves) / (2.0 * np.pi)
    turns = np.cumsum(np.clip(np.abs(np.sin(4.0 * t)) - 0.5, 0.0, None) ** 2 * np.sign(np.sin(4.0 * t)))
    for x in (cycloid, turns):
        for step in (0.0, 1e-3 * np.ptp(x)):
            rounded = np.round(x / step) * step if step else x
            assert saturation(rounded)[0] == 0.0
            top = 0.8 * rounded.max()
            assert saturation(np.minimum(rounded, top))[0] > 0.1


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".mat", ".json"])
def test_a_record_comes_back_from_its_file(suffix: str, tmp_path: Path) -> None:
    made = identify.record(
        1e-2, GOOD, {"joint1_angle [rad]": np.cumsum(U)}, {"wish [rad]": U}, provenance={"seed": 3, "delay_samples": 2}
    )
    found = identify.read_record(made.save(tmp_path / f"record{suffix}"))
    assert fx.names(found.inputs) == ["torque"]
    assert fx.names(found.references) == ["wish"]
    assert found.period == 100
    assert found.provenance["seed"] == 3
    assert np.array_equal(found.y, made.y)
    assert np.array_equal(found.r, made.r)


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("Time (s),motor (V),angle (deg)", "{t:.2f},{u},{y}"),
        ("t/s;motor/V;angle/deg", "{t:.2f};{u};{y}"),
        ("time,motor,angle\ns,V,deg", "{t:.2f},{u},{y}"),
        ("time;motor;angle\n[s];[V];[deg]", "{t:.2f};{u};{y}"),
        ("time [ms]\tmotor [mV]\tangle [°]", "{ms:.0f}\t{mu}\t{y}"),
    ],
)
@pytest.mark.parametrize("comma", [False, True])
def test_heads_as_programs_write_them(head: str, row: str, comma: bool, tmp_path: Path) -> None:
    rows = "\n".join(row.format(t=0.01 * k, ms=10 * k, u=u, mu=1e3 * u, y=10 * u) for k, u in enumerate(U))
    if comma and "," in rows:
        return  # there the comma parts columns
    (tmp_path / "lab.csv").write_text(f"{head}\n{rows.replace('.', ',') if comma else rows}\n", encoding="utf-8")
    found = identify.read_record(tmp_path / "lab.csv")
    assert found["motor"] == pytest.approx(U)
    assert found["angle"] == pytest.approx(np.radians(10 * U))


def test_arrays_that_are_no_signals_are_told(tmp_path: Path) -> None:
    t = 0.01 * np.arange(U.size)
    content = {"time": t, "motor": U, "angle": 2 * U + 0j, "other": U * 1j, "table": np.ones((4, 7))}
    np.savez(tmp_path / "lab.npz", **content, units=json.dumps({"motor": "V", "angle": "rad", "other": "rad"}))
    with pytest.warns(fx.DataWarning, match=r"left out.* other \(800 complex numbers\), table \(4 x 7 numbers\)"):
        found = identify.read_record(tmp_path / "lab.npz")
    assert fx.names(found.outputs) == ["angle"]


def test_csv_of_a_laboratory(tmp_path: Path) -> None:
    path = tmp_path / "lab.csv"
    rows = "\n".join(f"{k * 0.01:.2f};{u};{10 * u}" for k, u in enumerate(U))
    path.write_text(f"# measured on Monday\nt [s]; motor [V]; angle [deg]\n{rows}\n")
    found = identify.read_record(path, rename={"motor": "joint1_voltage"})
    assert fx.names(found.inputs) == ["joint1_voltage"]
    assert found["angle"][5] == pytest.approx(np.radians(10 * U[5]))
    path.write_text(f"t [s]; motor; angle [deg]\n{rows}\n")
    with pytest.raises(fx.DefinitionError, match=r'lab.csv: signal "motor" has no unit'):
        identify.read_record(path)
    assert identify.read_record(path, units={"motor": "V"}).inputs[0].unit == "V"
    path.write_text(f"t [s]; motor [V]; angle [deg]\n{rows}\n8.0;1;\n")
    with pytest.raises(fx.DefinitionError, match=r'line 802, column "angle .deg.": is empty'):
        identify.read_record(path)


def test_records_of_matlab_7_3(tmp_path: Path) -> None:
    """Plants were read from such files, records refused as damaged."""
    h5py = pytest.importorskip("h5py")
    t, units = 1e-3 * np.arange(64), '{"time": "s", "joint1_torque": "N m", "joint1_angle": "deg"}'
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        for name, row in {"time": t, "joint1_torque": np.sin(90.0 * t), "joint1_angle": 180.0 * t**2}.items():
            file[name] = row[None]
        file["units"] = np.array([[ord(letter)] for letter in units], np.uint16)
        file["units"].attrs["MATLAB_class"] = np.bytes_("char")
    found = identify.read_record(tmp_path / "a.mat")
    np.testing.assert_allclose(found["joint1_angle"], np.pi * t**2, rtol=1e-12)


def test_npz_with_matrices_and_names(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(
        path,
        dt=1e-2,
        u=U,
        y=np.column_stack([U, U]),
        inputs=np.array(["torque [Nm]"]),
        outputs=np.array(["a", "b"]),
        output_units=np.array(["rad", "m"]),
    )
    found = identify.read_record(path)
    assert fx.names(found.outputs) == ["a", "b"]
    assert [s.unit for s in found.outputs] == ["rad", "m"]
    np.savez(path, t=np.arange(800) * 1e-2, torque=U, angle=U, units=json.dumps({"torque": "N m", "angle": "rad"}))
    assert fx.names(identify.read_record(path).inputs) == ["torque"]


def universal(binary: bool, kind: int = 4) -> bytes:
    """Return a universal file with one function, a complex FRF or a real time history."""
    x = np.linspace(1.0, 8.0, 8)
    complex_ = kind == 4
    values = (1 + 2j) * x if complex_ else np.sin(x)
    head = [
        "drive point",
        "none",
        "none",
        "none",
        "none",
        f"{kind:5d}{1:10d}{0:5d}{0:10d} {'NONE':10s}{12:10d}{3:4d} {'NONE':10s}{1:10d}{3:4d}",
        f"{6 if complex_ else 4:10d}{8:10d}{1:10d}{1.0:13.5e}{1.0:13.5e}{0.0:13.5e}",
        f"{18 if complex_ else 17:10d}{0:5d}{0:5d}{0:5d} {'axis':20s} {'Hz':20s}",
        f"{12:10d}{0:5d}{0:5d}{0:5d} {'acc':20s} {'m/s^2':20s}",
        f"{13:10d}{0:5d}{0:5d}{0:5d} {'force':20s} {'N':20s}",
        f"{0:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {'NONE':20s}",
    ]
    flat = np.column_stack([values.real, values.imag]).ravel() if complex_ else values
    if binary:
        body = struct.pack(f"<{flat.size}d", *flat)
        first = f"{58:6d}b{1:6d}{2:6d}{11:12d}{len(body):12d}"
        return ("    -1\n" + "\n".join([first, *head]) + "\n").encode() + body + b"\n    -1\n"
    rows = ["".join(f"{v:20.12e}" for v in flat[i : i + 4]) for i in range(0, flat.size, 4)]
    return ("    -1\n    58\n" + "\n".join([*head, *rows]) + "\n    -1\n").encode()


@pytest.mark.parametrize("binary", [False, True])
def test_universal_files(binary: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.uff"
    other = b"    -1\n   151\nheader of the file\n    -1\n"
    path.write_bytes(other + universal(binary))
    found = identify.read_frf(path)
    assert fx.names(found.outputs) == ["12+Z"]
    assert found.outputs[0].unit == "m/s^2"
    assert found.inputs[0].unit == "N"
    assert np.allclose(found.response[0, 0], (1 + 2j) * np.linspace(1, 8, 8))
    assert np.allclose(found.omega, 2 * np.pi * np.linspace(1, 8, 8))
    path.write_bytes(universal(binary)[:-40])
    with pytest.raises(fx.DefinitionError, match=r"a.uff: .*(cut off|announced|left)"):
        identify.read_frf(path)
    path.write_bytes(b"no such file\n")
    with pytest.raises(fx.DefinitionError, match="holds no dataset 58"):
        identify.read_frf(path)


def test_an_frf_comes_back_from_its_file(tmp_path: Path) -> None:
    w = np.linspace(1.0, 10.0, 30)
    made = identify.measured_response(w, 1 / (4 - w**2 + 0.1j * w), ["force [N]"], ["x [mm]"], relative=0.01)
    for suffix in (".csv", ".npz", ".mat", ".json"):
        found = identify.read_frf(made.save(tmp_path / f"frf{suffix}"))
        assert np.array_equal(found.response, made.response)
        assert np.array_equal(found.sigma, made.sigma)
        assert found.outputs[0].unit == "m"


def test_parts_and_choices() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = identify.record(1e-2, GOOD, {"a [m]": U, "b [m]": 2 * U})
    assert made.part(1.0, 5.0).t.size == 401
    assert fx.names(made.choose(outputs=["b"]).outputs) == ["b"]
    with pytest.raises(fx.DefinitionError, match='unknown output of the record "c"'):
        made.choose(outputs=["c"])


def test_encodings_of_spreadsheets(tmp_path: Path) -> None:
    text = "time [s],tau [N m],angle [\N{DEGREE SIGN}]\n" + "".join(
        f"{0.001 * k:.3f},{np.sin(k):.6f},{np.cos(0.7 * k):.6f}\n" for k in range(100)
    )
    path = tmp_path / "wide.csv"
    path.write_bytes(text.encode("utf-16"))
    assert identify.read_record(path).y[0, 0] == pytest.approx(np.pi / 180.0)
    for encoding, words in (("latin-1", "line 1: not UTF-8 text .byte 0xb0"), ("utf-16-le", "zero bytes")):
        path.write_bytes(text.encode(encoding).replace(b"\xb0\x00", b"d\x00"))
        with pytest.raises(fx.DefinitionError, match=words):
            identify.read_record(path)


LAB = "time [s],motor [V],angle [rad],status\n"


def lab_rows(separator: str = ",", status: str = "ok") -> str:
    rows = ([f"{0.01 * k:.2f}", str(u), str(np.sin(0.3 * k)), status] for k, u in enumerate(U))
    return "".join(separator.join(row) + "\n" for row in rows)


def test_columns_that_are_not_used_may_hold_words_or_gaps(tmp_path: Path) -> None:
    path = tmp_path / "lab.csv"
    for status in ("ok", ""):
        path.write_text(LAB + lab_rows(status=status))
        assert identify.read_record(path, outputs=["angle"])["angle"][2] == pytest.approx(np.sin(0.6))
        with pytest.raises(fx.DefinitionError, match=r'line 2, column "status": (is empty|"ok" is not a number)'):
            identify.read_record(path, units={"status": "1"})


def test_remarks_of_other_programs_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "lab.csv"
    rows = lab_rows(";", "1").replace("\n", "\n%remark\n", 1)
    path.write_text("sep=;\n% Monday\n" + LAB.replace(",", ";").replace("status", "status [1]") + rows)
    assert identify.read_record(path, outputs=["angle"]).t.size == U.size
    path.write_text("\n".join(line + ";" for line in path.read_text().splitlines()[2:] if line[0] != "%"))
    assert identify.read_record(path, outputs=["angle"]).t.size == U.size  # every line ends with a separator


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAB + lab_rows(";"), "its columns are parted by semicolons, those of the header by commas"),
        (LAB + "0,00,1,0,0,5,ok\n", "line 2 has 7 columns where the header has 4: with decimal commas part"),
        (LAB + lab_rows().replace("0.01,", "1_0e-3,", 1), r'line 3, column "time \[s\]": "1_0e-3" is not a number'),
        ("time;motor;angle\ns;V;grad\n" + "0,0;1;2\n" * 20, r'line 2: unknown unit "grad" \(angle\)'),
        (
            "time [s];motor [V];angle [rad]\n0,5;1.234;1\n",
            r"decimal commas \(line 2\) and points \(line 2\): one of them may part thousands",
        ),
        ("Zeit [s],motor [V],angle [rad]\n" + "0.0,1,2\n" * 20, "rename one, Zeit=time"),
    ],
)
def test_what_a_table_says_in_two_ways_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "lab.csv").write_text(text)
    with pytest.raises(fx.DefinitionError, match=words):
        identify.read_record(tmp_path / "lab.csv")


def test_outputs_that_wrap_or_have_outliers_are_told() -> None:
    t = 0.01 * np.arange(800)
    turned, outlier = 1e-3 + 3.0 * t + 1e-3 * U, np.sin(3.0 * t)
    outlier[400] = 9.0
    made = identify.record(1e-2, GOOD, {"a [rad]": np.mod(turned, 2.0 * np.pi), "b [m]": outlier, "c [rad]": turned})
    said = made.warnings()
    assert len(said) == 2
    assert 'output "a" jumps by -6' in said[0]
    assert "does it wrap" in said[0]
    assert 'output "b" jumps by 9' in said[1]
    assert "comes back: an outlier" in said[1]
    sampled = {"x [m]": np.sign(np.sin(t)), "y [m/s^2]": np.sign(np.sin(t)) + 1e-3 * U}
    assert not any("jumps" in text for text in identify.record(1e-2, GOOD, sampled).warnings())
