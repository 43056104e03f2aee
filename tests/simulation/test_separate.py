from __future__ import annotations

import analytical as ref
import numpy as np
import pytest
from analytical import CASES, tokhi_arm

import flexctl as fx
from flexctl import errors
from flexctl.models.finite_difference import FiniteDifference
from flexctl.simulation.mode_filter import flexible_part, mode_bands, separate_modes

T = np.arange(0.0, 4.0, 5e-4)
INNER = (T > 1.0) & (T < 3.0)


def test_three_sines_on_a_ramp() -> None:
    hertz = np.array([11.8, 32.2, 58.3])
    parts = np.array([a * np.sin(2 * np.pi * f * T + 0.3) for a, f in zip((5e-3, 1e-3, 3e-4), hertz, strict=True)])
    y = 0.17 + 0.05 * T + parts.sum(axis=0)
    found = separate_modes(T, y, hertz)
    for got, part in zip(found, parts, strict=True):
        assert got[INNER] == pytest.approx(part[INNER], abs=0.02 * part.max())  # no phase shift
    assert flexible_part(T, y, 6.0)[INNER] == pytest.approx(parts.sum(axis=0)[INNER], abs=1e-4)
    assert flexible_part(T, y, 20.0)[INNER] == pytest.approx(parts[1:].sum(axis=0)[INNER], abs=1e-4)
    one = separate_modes(T, y, bands=[(8.0, 18.0)])
    assert one.shape == (1, T.size)
    assert one[0, INNER] == pytest.approx(parts[0, INNER], abs=2e-4)


@pytest.mark.parametrize(("case", "millimetres"), [("hub", 4.913), ("10 g", 2.011), ("20 g", 0.102)])
def test_first_mode_after_the_manoeuvre(case: str, millimetres: float) -> None:
    """The paper says that vibration grows with the payload; for this torque the first mode all but vanishes.

    0.3 s is close to three of its periods. The numbers are those of the exact beam, here from a fine mesh.
    """
    w, _, r = ref.modal_series(2, *CASES[case][:2])
    step = 0.1 * r[1] / w[1] ** 2
    exact = 1e3 * abs(step * (1 - 2 * np.exp(-0.3j * w[1]) + np.exp(-0.6j * w[1])))
    assert exact == pytest.approx(millimetres, abs=6e-4)
    model = FiniteDifference(tokhi_arm(*CASES[case]), sections=80)
    inputs = {"joint1_torque": fx.bang_bang(0.1, 0.3)}
    step = 0.3 / np.ceil(0.3 / ref.step_of(0.2, 80))
    run = fx.simulate(model, inputs=inputs, duration=3.0, step=step, method="march")
    t, tip = run.t[::40], run["tip_displacement"][::40]
    mode = separate_modes(t, tip, w[1:3] / (2 * np.pi))[0]
    free = (t > 1.2) & (t < 2.4)
    assert 1e3 * np.abs(mode[free]).max() == pytest.approx(millimetres, abs=0.03)


def test_bands_are_geometric_means() -> None:
    assert np.array(mode_bands([1.0, 4.0, 9.0])) == pytest.approx(np.array([[0.5, 2.0], [2.0, 6.0], [6.0, 13.5]]))
    assert mode_bands([2.0])[0] == pytest.approx((2**0.5, 8**0.5))


@pytest.mark.parametrize(
    ("t", "y", "options", "message"),
    [
        (T[:400], T[:400], {"frequencies_hz": [11.0, 32.0]}, "too short for a band from 6.4.* needs 3 periods, 0.46"),
        (T, T, {"frequencies_hz": [11.0, 1500.0]}, "not below 1000 Hz"),
        (T, T, {"frequencies_hz": [32.0, 11.0]}, "ascending"),
        (T, T, {"frequencies_hz": [0.0, 11.0]}, "positive"),
        (T, T, {"bands": [(4.0, 3.0)]}, "ascending"),
        (T, T, {"frequencies_hz": [11.0], "bands": [(3.0, 4.0)]}, "one of them"),
        (T, T, {}, "one of them"),
        (T, T[:-1], {"frequencies_hz": [11.0]}, "one size"),
        (T**2, T, {"frequencies_hz": [11.0]}, "equally spaced"),
        (T, T * np.nan, {"frequencies_hz": [11.0]}, "finite"),
    ],
)
def test_bad_input(t: object, y: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(errors.DefinitionError, match=message):
        separate_modes(t, y, **options)
