"""Measured responses in the place of plants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl import identify
from flexctl.__main__ import cli

SCRIPT = '''"""A PD by the motor's voltage."""
import flexctl as fx

PLANT = "frf.npz"


def design(plant):
    law = fx.LinearLaw(2e-3, ("angle",), ("volt",), follows=("angle",), Dy=[[-3.0]], Dr=[[3.0, 0.0, 0.0]])
    return fx.Design(fx.Saturated(law, 10.0), plant.linearise(), {})


def scenarios(plant):
    return [fx.Scenario("0.5 rad", {"angle": fx.quintic(0.0, 0.5, 0.5)}, 1.5)]
'''


def truth() -> fx.FirstOrder:
    """A motor, 1 / (s (0.05 s + 1)), and a bending mode of 4 Hz with 2 % damping."""
    w = 8.0 * np.pi
    A = np.zeros((4, 4))
    A[0, 1], A[1, 1] = 1.0, -20.0
    A[2:, 2:] = [[0.0, 1.0], [-(w**2), -0.04 * w]]
    B = np.array([[0.0], [20.0], [0.0], [w**2]])
    C = np.array([[1.0, 0.0, 0.3, 0.0], [0.0, 0.0, 1.0, 0.0]])
    return fx.from_matrices(A=A, B=B, C=C, inputs=["volt"], outputs=["angle", "strain"])


def measured(noise: float = 2e-3, lines: int = 600) -> fx.FrequencyResponse:
    """The response of the plant with complex noise."""
    exact = truth().frequency_response(2 * np.pi * np.geomspace(0.02, 20.0, lines))
    sigma = noise * np.abs(exact.response)
    rng = np.random.default_rng(4)
    error = (rng.standard_normal(sigma.shape) + 1j * rng.standard_normal(sigma.shape)) / np.sqrt(2.0)
    return fx.FrequencyResponse(exact.omega, exact.response + sigma * error, exact.inputs, exact.outputs, sigma=sigma)


def test_a_run_of_data_is_that_of_the_plant_behind_them_and_says_so() -> None:
    inputs = {"volt": fx.bang_bang(1.0, 0.4)}
    text = r"a measured response; what runs is a plant fitted to its lines, 0.02 to 20 Hz"
    with pytest.warns(fx.DataWarning, match=text) as said:
        run = fx.simulate(measured(), inputs=inputs, duration=2.0)
    assert len(said) == 1
    exact = fx.simulate(truth(), inputs=inputs, duration=2.0)
    for name in ("angle", "strain"):
        assert abs(run[name] - exact[name]).max() < 5e-3 * np.ptp(exact[name])


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".json", ".csv"])
def test_files_of_responses_are_plants(suffix: str, tmp_path: Path) -> None:
    data = measured()
    path = data.save(tmp_path / f"frf{suffix}")
    assert np.array_equal(fx.identify.read_frf(path).sigma, data.sigma)  # saved with its deviations
    with pytest.warns(fx.DataWarning, match="frf is a measured response"):
        plant = fx.load_plant(path)
    assert plant.modes().frequencies_hz == pytest.approx([4.0], rel=1e-3)
    assert plant.modes().damping == pytest.approx([0.02], rel=2e-2)
    known = plant.uncertainty
    assert known is not None
    assert known.parameters == ("mode.1.frequency_hz", "mode.1.damping")
    drawn = known.draw(plant, 40)
    assert np.std([case["mode.1.damping"] for case in drawn]) == pytest.approx(known.sigma[1], rel=0.4)
    assert plant.with_({"mode.1.damping": 0.03}).uncertainty is known


def test_a_delay_of_sampled_data_stays_in_the_plant() -> None:
    dt, late = 5e-3, 3
    sampled = fx.zero_order_hold(truth(), dt, delay=late * dt)
    omega = 2 * np.pi * np.geomspace(0.1, 20.0, 500)
    H = sampled.frequency_response(omega).response
    rng = np.random.default_rng(2)
    noise = 1e-3 * np.abs(H) * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2.0)
    data = identify.MeasuredResponse(
        omega, H + noise, sampled.inputs, sampled.outputs, sigma=1e-3 * np.abs(H), dt=dt, held=True
    )
    with pytest.warns(fx.DataWarning, match=r"delay 0\.015 s"):
        plant = identify.fitted_plant(data)
    found = plant.linearise()
    assert isinstance(found, fx.FirstOrder)
    assert found.dt == dt
    again = found.frequency_response(omega).response
    assert np.median(np.abs(again - H) / np.abs(H)) < 2e-3


def test_what_no_plant_follows_is_refused() -> None:
    omega = np.geomspace(1.0, 100.0, 300)
    rng = np.random.default_rng(3)
    H = np.exp(2j * np.pi * rng.random(300))[None, None]
    data = fx.FrequencyResponse(omega, H, (fx.Signal("u"),), (fx.Signal("y"),), sigma=0.01 * np.abs(H))
    with pytest.raises(fx.DefinitionError, match=r"no plant was found that follows the lines .* \(at most 0.1\)"):
        fx.simulate(data, inputs={"u": fx.bang_bang(1.0, 0.1)}, duration=1.0)


def test_an_unstable_plant_is_not_taken_for_a_stable_one() -> None:
    omega = np.geomspace(0.1, 100.0, 300)
    s = 1j * omega
    H = (1.0 / ((s - 2.0) * (s + 8.0)))[None, None]
    data = fx.FrequencyResponse(omega, H, (fx.Signal("u"),), (fx.Signal("y"),), sigma=0.001 * np.abs(H))
    with pytest.raises(fx.DefinitionError, match="must be stable but for free motion"):
        identify.fitted_plant(data)


def test_what_needs_mass_and_stiffness_still_refuses_data() -> None:
    with pytest.raises(fx.DefinitionError, match=r"fx\.identify\.modal"):
        fx.linearise(measured())


def test_commands_take_measured_responses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    measured().save("frf.npz")
    Path("law.py").write_text(SCRIPT)
    run = CliRunner()
    for words in (
        ["run", "law.py"], ["certify", "law.py", "--draws", "3"], ["margins", "law.py", "frf.npz", "--unstable", "0"],
        ["sweep", "law.py", "--draws", "2", "--workers", "1"],
        ["simulate", "frf.npz", "--input", "volt=step:1", "--duration", "0.5"],
    ):
        identify.fitted._FILES.clear()
        found = run.invoke(cli, words)
        assert found.exit_code == 0, (words, found.output, found.stderr)
        told = found.stderr.count("what runs is a plant fitted")
        assert told == 1 or words[0] == "margins", (words, found.stderr)
