"""The object that design functions return: what it says of the loop, and that it acts as the law in it."""

from __future__ import annotations

import json
import pickle
from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.filters import filtered, low_pass
from flexctl.design.inversion import deviation
from flexctl.errors import DefinitionError
from flexctl.judging.scenario import design as designed
from flexctl.laws.controller import bare
from flexctl.motion.moves import quintic

SCRIPTS = fx.list_controllers()


@cache
def lqg():
    script = fx.load_controller("tokhi_azad_lqg")
    return script.design(fx.load_plant(script.PLANT))


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_returns_a_design_with_a_stable_loop(name):
    script = fx.load_controller(name)
    found = designed(script, fx.load_plant(script.PLANT))
    assert isinstance(found, fx.Design)
    assert found.assumptions
    if found.measures:
        assert found.stable


def test_poles_are_those_of_the_sampled_loop_in_physical_coordinates():
    """Against plain matrices: exponential of the full plant, the law's linear part, its eigenvalues."""
    import scipy.linalg as sla

    d = lqg()
    K, P = bare(d).feedback(), d.plant.first_order()
    rows = [[s.name for s in P.outputs].index(name) for name in d.measures]
    n, T = len(P.A), K.dt
    step = sla.expm(T * np.block([[P.A, P.B], [np.zeros((1, n + 1))]]))
    Phi, Gamma = step[:n, :n], step[:n, n:]
    A = np.block([[Phi + Gamma @ K.D @ P.C[rows], Gamma @ K.C], [K.B @ P.C[rows], K.A]])
    z = np.linalg.eigvals(A)
    slowest = np.log(z[np.argsort(-np.abs(z))][:6]) / T
    assert d.poles[:6].real == pytest.approx(slowest.real, rel=1e-6)
    assert np.sort(abs(d.poles[:6].imag)) == pytest.approx(np.sort(abs(slowest.imag)), rel=1e-5, abs=1e-6)


def test_margins_and_numbers_of_the_synthesis():
    assert lqg().margins["joint1_torque"].disk_margin == pytest.approx(0.399, rel=0.01)
    hinf = fx.load_controller("tokhi_azad_hinf")
    found = hinf.design(fx.load_plant("tokhi_azad_1994")).found
    assert found["norm"] <= 1.001 * found["gamma"]


def test_a_design_runs_as_the_law_in_it():
    plant, move = fx.load_plant("tokhi_azad_1994"), quintic(0.0, 0.1, 0.4)
    runs = [fx.simulate(plant, law, move, duration=0.5) for law in (lqg(), lqg().law)]
    assert np.array_equal(runs[0]["chord1_angle"], runs[1]["chord1_angle"])
    assert runs[0].scores == runs[1].scores


def test_a_design_steps_as_its_law():
    d, rng = lqg(), np.random.default_rng(0)
    states = [d.initial(), d.law.initial()]
    for k in range(5):
        y, r = rng.standard_normal(2), rng.standard_normal(3)
        (u, states[0]), (v, states[1]) = d.step(states[0], 1e-3 * k, y, r), d.law.step(states[1], 1e-3 * k, y, r)
        assert np.array_equal(u, v)


def test_wrappers_around_a_design_and_forms_made_from_it():
    encoders = fx.Quantised(lqg(), {"joint1_angle": 1e-4})
    assert type(bare(encoders).law) is fx.Delayed
    assert bare(encoders).quanta == {"joint1_angle": 1e-4}
    assert deviation(lqg()).follows == lqg().measures
    assert len(filtered(lqg(), low_pass(500.0)).law.A) == len(lqg().law.law.A) + 2


def test_it_is_immutable_and_travels_between_processes():
    with pytest.raises(TypeError):
        lqg().assumptions["modes"] = 5
    copy = pickle.loads(pickle.dumps(lqg()))
    assert np.array_equal(copy.poles, lqg().poles)
    assert copy.assumptions["modes"] == 2


def test_json_and_text():
    told = json.loads(json.dumps(lqg().to_dict()))
    assert told["stable"] is True
    assert told["margins"]["joint1_torque"]["disk_margin"] == pytest.approx(0.399, rel=0.01)
    hinf = fx.load_controller("tokhi_azad_hinf")
    assert "gamma" in repr(hinf.design(fx.load_plant("tokhi_azad_1994")))


def test_the_plant_must_have_the_signals_of_the_law():
    in_space = fx.load_plant("spatial_3r").linearise()
    with pytest.raises(DefinitionError, match="no output \\['chord1_angle'\\]"):
        fx.Design(lqg().law, in_space)
