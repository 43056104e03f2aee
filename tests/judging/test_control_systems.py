"""Systems of python-control in the place of plants, through all that takes a plant, and its frequency response data."""

from __future__ import annotations

import control as ct
import numpy as np
import pytest

import flexctl as fx

TEXT = '''
"""A proportional law."""
import flexctl as fx
PLANT = "plant.mat"
def design(plant):
    return fx.LinearLaw(0.01, ("angle",), ("torque",), ("angle",), Dy=[[-5.0]], Dr=[[5.0, 0.0, 0.0]])
def scenarios(plant):
    return [fx.Scenario("move", {"angle": fx.quintic(0.0, 0.1, 0.3)}, 1.0)]
'''
LAW = fx.LinearLaw(0.01, ("angle",), ("torque",), ("angle",), Dy=[[-5.0]], Dr=[[5.0, 0.0, 0.0]])
MOVE = {"angle": fx.quintic(0.0, 0.1, 0.3)}


def system(feed: float = 0.0, count: int = 1) -> ct.StateSpace:
    """Two masses of 2 and 1 kg on springs; `count` forces and readings."""
    K, minv = np.array([[300.0, -100.0], [-100.0, 150.0]]), np.diag([0.5, 1.0])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-minv @ K, -2e-3 * minv @ K]])
    B = np.vstack([np.zeros((2, 2)), minv])[:, :count]
    C = np.hstack([np.eye(2), np.zeros((2, 2))])[:count]
    D = feed * np.arange(1.0, count * count + 1.0).reshape(count, count)
    names = {"inputs": ["torque", "push"][:count], "outputs": ["angle", "shift"][:count]}
    return ct.ss(A, B, C, D, **names, name="mine")


PLANTS = {
    "continuous": system(), "fed through": system(0.01), "two by two": system(0.01, 2),
    "sampled": ct.c2d(system(), 1e-3),
    "a quotient": ct.tf([1.0, 2.0], [1.0, 0.1, 4.0], inputs=["torque"], outputs=["angle"]),
}


def expected_run(plant, times):
    """The loop of a proportional law in steps of the control period, by hand: the reading is before the jump."""
    found = ct.ss(plant)
    dt = found.dt or 0.01
    found = found if found.dt else ct.c2d(found, dt)
    every, x = round(0.01 / dt), np.zeros(found.nstates)
    u, y, out = np.zeros(found.ninputs), 0.0, []
    for k in range(round(times[-1] / dt) + 1):
        y = float((found.C @ x + found.D @ u)[0])  # u still of the period before
        if k % every == 0:
            u[0] = 5.0 * (MOVE["angle"](k * dt)[0] - y)
        out.append(y)
        x = found.A @ x + found.B @ u
    return np.interp(times, np.arange(len(out)) * dt, out)


@pytest.mark.parametrize("which", PLANTS)
def test_a_loop_around_it(which, tmp_path) -> None:
    plant = PLANTS[which]
    run = fx.simulate(plant, LAW, reference=MOVE, duration=1.0)
    assert run["angle"] == pytest.approx(expected_run(plant, run.t), abs=1e-12)
    assert fx.margins(fx.loop_gain(plant, LAW)).disk_margin > 0.5
    assert fx.certify(LAW, plant, scenarios=[fx.Scenario("move", MOVE, 1.0)], bits=(), workers=1).passed
    (tmp_path / "law.py").write_text(TEXT)
    place = fx.save_linear(plant, tmp_path / "plant.mat")
    table = fx.sweep(tmp_path / "law.py", place, over={"input.torque.gain": [0.8, 1.0]}, workers=1, linear=True)
    assert table["status"] == ["ok", "ok"]
    compared = fx.compare([tmp_path / "law.py"], [plant], workers=1)
    assert [one.failure for one in compared.runs] == [""]
    for form in ("c", "fmu"):
        options = {"binary": False} if form == "fmu" else {}
        assert fx.export_law(tmp_path / "law.py", tmp_path / form, form, plant=plant, **options).files
    for page, result in (("run", run), ("bode", fx.frequency_response(plant)), ("modes", fx.modes(plant))):
        assert fx.report(result, tmp_path / f"{page}.html", plant=plant).stat().st_size > 5000


@pytest.mark.parametrize("which", PLANTS)
def test_its_numbers(which) -> None:
    plant = PLANTS[which]
    poles = np.sort_complex(ct.poles(ct.ss(plant)))
    found = fx.modes(plant)
    s = np.log(poles) / plant.dt if plant.dt else poles
    assert np.sort(found.frequencies_hz * 2 * np.pi) == pytest.approx(np.sort(abs(s[s.imag > 0])), rel=1e-9)
    w = np.array([0.5, 8.9, 30.0])
    at = np.exp(1j * w * plant.dt) if plant.dt else 1j * w
    exact = np.array([np.atleast_2d(plant(p)) for p in at]).transpose(1, 2, 0)
    assert fx.frequency_response(plant, w).response == pytest.approx(exact, rel=1e-9)
    assert float(fx.norm(plant, np.inf)) == pytest.approx(float(ct.norm(plant, "inf")), rel=2e-6)
    if not plant.dt and np.any(ct.ss(plant).D):
        with pytest.warns(fx.InfiniteNorm, match="fed through"):
            assert np.isinf(fx.norm(plant, 2))
    else:
        assert float(fx.norm(plant, 2)) == pytest.approx(float(ct.norm(plant, 2)), rel=1e-9)


def test_a_sampled_plant_with_the_loop_of_a_slower_law_for_matlab(tmp_path) -> None:
    for which in ("sampled", "fed through"):
        (tmp_path / "law.py").write_text(TEXT)
        fx.save_linear(PLANTS[which], tmp_path / "plant.mat")
        fx.export_law(tmp_path / "law.py", tmp_path / which, "matlab", plant=tmp_path / "plant.mat", name="out")
        from scipy.io import loadmat

        stored = loadmat(tmp_path / which / "out.mat")
        poles = np.linalg.eigvals(stored["loop_A"])
        exact = np.exp(0.01 * fx.loop_poles(PLANTS[which], LAW.feedback()))
        # the loop as it runs: a sensor that is fed through reads before the new command acts
        assert np.sort(abs(poles[abs(poles) > 1e-9])) == pytest.approx(np.sort(abs(exact[abs(exact) > 1e-9])), rel=1e-6)


def test_frequency_response_data() -> None:
    w = np.geomspace(1.0, 100.0, 1500)
    plant, data = PLANTS["continuous"], ct.frd(PLANTS["continuous"], w, inputs=["torque"], outputs=["angle"])
    exact = fx.margins(fx.loop_gain(plant, LAW))
    found = fx.margins(fx.loop_gain(data, LAW), unstable_poles=0)
    assert found.stable
    assert found.gain_margin == pytest.approx(exact.gain_margin, rel=1e-3)
    with pytest.warns(fx.DataWarning, match="what runs is a plant fitted to its lines"):
        run = fx.simulate(data, LAW, reference=MOVE, duration=1.0)
    assert run["angle"] == pytest.approx(expected_run(plant, run.t), abs=1e-9)
    with pytest.warns(fx.DataWarning, match="what runs is a plant fitted to its lines"):
        found = fx.certify(LAW, data, scenarios=[fx.Scenario("move", MOVE, 1.0)], bits=(), workers=1)
    assert found.passed
    told = " ".join(found.to_dict()["not_examined"])
    assert "the measured response itself" in told
    assert "nothing is known outside the lines" in told
    with pytest.warns(fx.DataWarning, match="standard deviation of the lines is not known"):
        fit = fx.identify.modal(data)
    # without noise no more modes than there are
    assert fit.frequencies_hz == pytest.approx(fx.modes(plant).frequencies_hz, rel=1e-9)


def test_refusals() -> None:
    data = ct.frd(PLANTS["continuous"], np.geomspace(1.0, 100.0, 50))
    improper, unknown = ct.tf([1.0, 2.0, 3.0], [1.0, 1.0]), ct.ss([[0.5]], [[1.0]], [[1.0]], 0, True)
    for call, message in (
        (lambda: fx.modes(data), "fit a plant to it first"),
        (lambda: fx.from_control(data), "has no states: fit a plant"),
        (lambda: fx.modes(improper), "not a plant in states: .*non-proper"),
        (lambda: fx.modes(unknown), "sample time of this system is not specified"),
        (lambda: fx.identify.modal(PLANTS["continuous"]), "is not a measured frequency response: give what"),
        (lambda: fx.simulate(PLANTS["sampled"], inputs={"torque": fx.bang_bang(1.0, 0.1)}, duration=0.5, step=0.01),
         "sampled every 0.001 s and has no other steps"),
    ):
        with pytest.raises(fx.FlexctlError, match=message):
            call()
