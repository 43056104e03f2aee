"""The default grid holds every mode or says which it does not; peaks are poles; default channels; phase ticks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.cli.peaks import ROWS
from flexctl.frequency import FrequencyResponse, main_channels
from flexctl.io import plot
from flexctl.linear import SecondOrder
from flexctl.model import names


def call(*words: str) -> str:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return result.stdout


def modes_plant(omega: list[float], zeta: float, weights: list[float] | None = None) -> SecondOrder:
    """Return unit masses on springs; the input acts by weights, the output is the sum."""
    w, n = np.array(omega), len(omega)
    B = np.ones(n) if weights is None else np.array(weights)
    found = fx.from_matrices(np.eye(n), 2 * zeta * np.diag(w), np.diag(w**2), B, np.ones(n))
    assert isinstance(found, SecondOrder)
    return found


def test_the_default_grid_of_matrices_holds_every_mode() -> None:
    """The input on the twelfth mode: 1.0004 came out where 20 / (2 zeta w^2) = 1.1111 is right."""
    omega = [*range(1, 11), 20.0, 30.0, 40.0]
    plant = modes_plant(omega, 0.01, [0.02, *[0.0] * 10, 20.0, 0.0])
    for given in (plant, plant.first_order()):
        found = given.frequency_response()
        assert found.magnitude().max() == pytest.approx(20.0 / (2 * 0.01 * 30.0**2), rel=1e-4)
        assert found.omega[-1] > 40.0
        assert (found.outside.size, found.note) == (0, "")
    wide = modes_plant(np.geomspace(0.5, 900.0, 135).tolist(), 0.005)
    assert wide.frequency_response().outside.size == 0
    assert len(wide.frequency_response().peaks()) > 130


def test_a_discretised_arm_says_what_it_leaves_out() -> None:
    plant = fx.load_plant("planar_2r_flexible").linearise()
    found = plant.frequency_response()
    frequencies = plant.modes().frequencies_hz
    assert found.outside / (2 * np.pi) == pytest.approx(frequencies[10:])
    assert found.note == f"86 of 96 modes lie above {found.omega[-1] / (2 * np.pi):.4g} Hz"
    assert found.note in repr(found)
    assert found.to_dict()["modes_outside_hz"] == pytest.approx(frequencies[10:])
    low = fx.frequency_response(plant, np.geomspace(400.0, 2000.0, 50))
    assert low.note.startswith("1 of 96 modes lie below 63.66 Hz, 92 of 96 modes lie above 318.3 Hz")
    title = plot.bode(found, [("tip_y", "joint1_torque")]).get_supxlabel()
    assert title == f"not shown: {found.note}"
    assert plot.bode(modes_plant([1.0, 2.0], 0.1).frequency_response()).get_supxlabel() == ""
    both = plot.bode({"one": found, "other": found}, [("tip_y", "joint1_torque")])  # not over the legend
    assert both.get_supxlabel() == ""
    assert f"one, not shown: {found.note}" in both.legends[0].get_title().get_text()


def test_peaks_are_the_poles_that_a_channel_sees() -> None:
    """4,960 came out of this plant, six times 42.9345 Hz among them; its modes are at 50.09, 86.72, 188.8 Hz .."""
    plant = fx.load_plant("planar_2r_flexible").linearise()
    frequencies = 2 * np.pi * plant.modes(10).frequencies_hz
    found = plant.frequency_response().peaks()
    for channel in {(p.output, p.input) for p in found}:
        seen = [p.frequency for p in found if (p.output, p.input) == channel]
        assert len(seen) <= 10
        assert all(np.abs(frequencies / w - 1.0).min() < 1e-9 for w in seen)
        assert len(set(seen)) == len(seen)
    along = [p for p in found if (p.output, p.input) == ("joint1_angle", "tip_force_x")]
    assert along == []  # the arm is straight: nothing but rounding


def test_peaks_of_damped_modes_are_where_the_response_is_largest() -> None:
    plant = modes_plant([1.0, 10.0, 10.5, 100.0, 300.0], 0.004, [1.0, 1.0, 1.0, 1.0, 0.0])
    found = plant.frequency_response()
    peaks = found.peaks()
    assert [round(p.frequency, 1) for p in peaks] == [1.0, 10.0, 10.5, 100.0]
    for p in peaks:
        near = np.linspace(0.99, 1.01, 20001) * p.frequency
        H = np.abs(plant.transfer(1j * near)[0, 0])
        assert abs(p.gain) == pytest.approx(H.max(), rel=1e-7)
        assert p.frequency == pytest.approx(near[np.argmax(H)], rel=2e-6)
        assert p.prominence > 10.0
    assert modes_plant([1.0, 2.0], 0.8).frequency_response().peaks() == []


def test_an_actuators_pole_is_no_peak_of_the_arm() -> None:
    """Its window, 9 +- 36 rad/s wide, holds the undamped modes of the arm, which samples hit or miss."""
    plant = fx.load_plant("ralf").linearise()
    hertz = plant.modes().frequencies_hz
    for p in plant.frequency_response().peaks():
        if p.output.startswith("strain"):
            assert np.abs(hertz * 2 * np.pi / p.frequency - 1.0).min() < 0.02
            assert not np.isfinite(p.gain)


def test_peaks_of_measured_data() -> None:
    plant = modes_plant([1.0, 10.0, 100.0], 0.01)
    model = plant.frequency_response()
    rng = np.random.default_rng(0)
    noisy = model.response * (1.0 + 1e-4 * rng.standard_normal(model.response.shape))
    data = FrequencyResponse(model.omega, noisy, model.inputs, model.outputs)
    assert (data.note, data.outside.size) == ("", 0)
    assert [round(p.frequency) for p in data.peaks()] == [1, 10, 100]


@pytest.mark.parametrize(
    ("plant", "inputs", "outputs"),
    [
        ("li_zhang_single_link", ["joint1_torque"], ["joint1_angle", "tip_x", "tip_y", "root_strain"]),
        ("tokhi_azad_1994", ["joint1_torque"], ["joint1_angle", "tip_displacement", "tip_x", "tip_y"]),
        ("planar_2r_servo", ["joint1_command", "joint2_command"], ["joint1_angle", "joint2_angle", "tip_x", "tip_y"]),
        ("quanser_flexible_link", ["joint1_voltage"], ["joint1_angle", "tip_x", "tip_y"]),
        ("spatial_rp", ["joint1_torque", "joint2_force"],
         ["joint1_angle", "joint2_extension", "tip_x", "tip_y", "tip_z", "guide_strain"]),
        ("ralf", ["joint1_command", "joint2_command"],
         ["joint1_angle", "joint2_angle", "tip_x", "tip_y", "strain_lower", "strain_upper"]),
    ],
)
def test_main_channels(plant: str, inputs: list[str], outputs: list[str]) -> None:
    assert main_channels(fx.load_plant(plant).linearise()) == (inputs, outputs)


def test_plants_with_names_of_their_own_are_shown_whole() -> None:
    plant = fx.from_matrices(np.eye(2), K=np.diag([1.0, 4.0]), B=np.eye(2), outputs=["left", "right"])
    assert main_channels(plant) == (names(plant.inputs), ["left", "right"])


def test_the_picture_of_one_link_has_its_drive_and_sensors(tmp_path: Path) -> None:
    """18 panels, 1890 x 4200 pixels, came out."""
    from matplotlib.image import imread

    path = tmp_path / "b.png"
    result = CliRunner().invoke(cli, ["bode", "li_zhang_single_link", "--to", "100", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "drawn: 3 of 27 channels; --all shows the others" in result.stderr
    assert imread(path).shape[:2] == (750, 1890)
    every = tmp_path / "all.png"
    call("bode", "li_zhang_single_link", "--to", "100", "--all", "-o", str(every))
    assert imread(every).shape[0] > 4000
    chosen = tmp_path / "chosen.png"
    call("bode", "li_zhang_single_link", "--to", "100", "--output", "tip_error_y", "-o", str(chosen))
    assert imread(chosen).shape[1] < 1000


def test_the_table_has_a_sensible_length_and_says_what_it_leaves_out() -> None:
    text = call("bode", "planar_2r_flexible")
    rows = [line for line in text.splitlines() if "→" in line]
    assert 20 <= len(rows) <= ROWS
    assert "50 of 90 peaks are left out" in text
    assert "10 of 63 channels; --all shows the others" in text
    assert "86 of 96 modes lie above 1314 Hz" in text
    assert {row.split()[3] for row in rows} == {"50.0939", "86.721", "188.792", "254.41"}
    damped = call("bode", "planar_2r_servo", "--output", "tip_y")
    assert len([line for line in damped.splitlines() if "→" in line]) <= ROWS
    assert "undamped" not in damped
    assert "no peak in these channels" in call("bode", "planar_2r_rigid", "--from", "0.1", "--to", "10")


def test_numbers_keep_every_channel() -> None:
    found = json.loads(call("bode", "tokhi_azad_1994", "--points", "20", "--json"))
    assert found["outputs"] == names(fx.load_plant("tokhi_azad_1994").model.outputs)
    assert len(found["modes_outside_hz"]) == 9


@pytest.mark.parametrize("turns", [1, 2, 5, 7, 13, 40])
def test_phase_ticks_are_whole_or_half_turns(turns: int) -> None:
    """A range of 1170 degrees had ticks at multiples of 270."""
    plant = modes_plant(np.geomspace(1.0, 1e3, turns).tolist(), 0.002, [(-1.0) ** k * 3.0**k for k in range(turns)])
    axes = plot.bode(plant.frequency_response()).axes[1]
    low, high = axes.get_ylim()
    ticks = np.array([t for t in axes.get_yticks() if low <= t <= high])
    step = np.diff(ticks)
    assert np.all(step == step[0])
    assert step[0] in (90.0, 180.0, 360.0, 720.0, 1440.0)
    assert np.all(ticks % step[0] == 0.0)
    assert 2 <= ticks.size <= 6
