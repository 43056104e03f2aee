"""Iterative learning: the filter against its equation, the certificate against runs, what is kept and refused."""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.learning_filter import learning_loop, least_of_largest
from flexctl.laws.linear_part import linear_part

SETTINGS = {"model.sections": 10, "damping": {"kind": "modal", "ratio": 0.01}}
MOVE = fx.quintic(0.0, 0.3, 0.6)


@cache
def arm(mass: float = 0.0):
    return fx.load_plant("tokhi_azad_1994", overrides={**SETTINGS, "payload.mass": mass})


@cache
def law():
    return fx.load_controller("tokhi_azad_robust").design(fx.load_plant("tokhi_azad_1994"))


def learn(on: float = 0.0, masses=(0.0, 0.01, 0.02), **options):
    models = {f"{1e3 * m:g} g": arm(m) for m in masses}
    given = {"cutoff": 20.0, "runs": 3, "before": 0.2, "after": 0.6, "method": "march", **options}
    return fx.learn(arm(on), law(), {"chord1_angle": MOVE}, models=models, **given)


def test_the_filter_of_one_model_is_its_inverse_and_of_two_the_best_of_all() -> None:
    rng = np.random.default_rng(1)
    H = rng.standard_normal((2, 5, 1, 1)) + 1j * rng.standard_normal((2, 5, 1, 1)) + 2.0
    np.testing.assert_allclose(least_of_largest(H[:1], 0.0)[:, 0, 0] * H[0, :, 0, 0], 1.0, rtol=1e-9)
    L = least_of_largest(H, 0.0)
    reached = np.abs(1.0 - H[:, :, 0, 0] * L[:, 0, 0]).max(axis=0)
    # the smallest largest distance of two numbers h1 L, h2 L from 1: |h1 - h2| / (|h1| + |h2|)
    h, g = H[:, :, 0, 0]
    np.testing.assert_allclose(reached, np.abs(h - g) / (np.abs(h) + np.abs(g)), rtol=2e-2)


def test_the_certificate_is_what_runs_do_to_a_sine() -> None:
    """A linear loop multiplies the error at a frequency by Q (1 - H L), which is what the certificate states."""
    made = learn(runs=0).filter
    loop = learning_loop(arm(0.02).linearise(), linear_part(fx.with_added(law()), lambda name: 0.0))
    k = int(np.searchsorted(made.frequencies, 5.0))
    z = np.exp(2j * np.pi * made.frequencies[k] * made.sample_time)
    names, inputs = fx.names(loop.outputs), fx.names(loop.inputs)
    H = loop.transfer(np.array([z]))[names.index("chord1_angle"), inputs.index("joint1_torque_learnt"), 0]
    expected = made.Q[k] * abs(1.0 - H * made.L[0, k, 0, 0])
    assert made.contraction["20 g"][k] == pytest.approx(expected, rel=1e-6)
    assert made.rates["20 g"] == made.contraction["20 g"].max() <= made.rate < 1.0


@pytest.mark.parametrize("on", [0.0, 0.02])
def test_errors_shrink_faster_than_the_certificate_says(on: float) -> None:
    found = learn(on)
    sizes = np.array(found.sizes)
    assert np.all(sizes[1:3] < found.filter.rate * sizes[:2])
    assert found.errors[3]["chord1_angle"] < 0.06 * found.errors[0]["chord1_angle"]
    again = fx.simulate(arm(on), found.law, found.references, duration=found.duration, method="march")
    largest = again.scores["chord1_angle.max_error"]  # between samples, too
    assert largest == pytest.approx(found.errors[3]["chord1_angle"], rel=1e-4)
    assert np.abs(again["joint1_torque"]).max() <= 0.3


def test_what_may_grow_is_refused_before_anything_runs() -> None:
    def never(*_: object) -> None:
        raise AssertionError("it ran")

    with pytest.raises(fx.DefinitionError, match=r"may grow by .* at .* Hz"):
        learn(cutoff=30.0, made_from=["10 g"], progress=never)


def test_what_was_learnt_is_kept_and_gone_on_from(tmp_path) -> None:
    path = tmp_path / "learnt.json"
    whole = learn(runs=3)
    learn(runs=1, path=path)
    told = []
    found = learn(runs=3, path=path, progress=lambda done, total, error: told.append(done))
    assert told == [3, 4]  # two runs were in the file
    assert found.sizes == pytest.approx(whole.sizes, rel=1e-6)
    np.testing.assert_allclose(found.values, whole.values, atol=1e-9)
    nothing = learn(runs=3, path=path)
    assert nothing.run is None
    assert nothing.sizes == found.sizes
    with pytest.raises(fx.DefinitionError, match="cutoff_hz"):
        learn(runs=3, path=path, cutoff=15.0)
    content = json.loads(path.read_text())
    content["next"] = content["next"][0][:5]
    path.write_text(json.dumps(content))
    with pytest.raises(fx.DefinitionError, match="shape"):
        learn(runs=4, path=path)
    assert learn(runs=0, path=path, resume=False).best == 0


def test_it_stops_when_two_runs_are_worse_and_returns_the_best() -> None:
    """A load that comes on another way every run makes the error grow at random."""
    calls = []

    class Other:
        breakpoints = ()

        def __call__(self, t, before=False):
            return np.full(np.shape(t), 0.02 * len(calls) ** 2)

    found = learn(runs=9, inputs={"joint1_torque": Other()}, progress=lambda *told: calls.append(told))
    assert found.stopped == "2 runs in a row worse than the best"
    assert len(found.sizes) == found.best + 3
    assert found.sizes[found.best] == min(found.sizes)


def test_learning_at_a_limit_is_warned_of() -> None:
    """0.6 rad in 0.7 s takes more torque than the law has: no correction helps, whatever the certificate says."""
    models = {"0 g": arm(), "10 g": arm(0.01)}
    given: dict = {"models": models, "cutoff": 15.0, "runs": 2, "method": "march"}
    with pytest.warns(fx.Caution, match="the last run of learning was at a limit: joint1_torque in 0"):
        fast = fx.learn(arm(0.01), law(), {"chord1_angle": fx.quintic(0.0, 0.6, 0.6)}, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fx.Caution)
        slow = fx.learn(arm(0.01), law(), {"chord1_angle": fx.quintic(0.0, 0.6, 1.1)}, **given)
    assert slow.sizes[-1] < 0.1 * slow.sizes[0]
    assert fast.sizes[-1] > 0.5 * fast.sizes[0]


def test_what_was_learnt_is_refused_with_another_law() -> None:
    found = learn(runs=0)
    other = fx.with_added(fx.load_controller("tokhi_azad_lqg").design(fx.load_plant("tokhi_azad_1994")))
    with pytest.raises(fx.DefinitionError, match="another law"):
        fx.simulate(arm(), other, found.references, duration=0.1)


def test_any_law_learns_and_its_limits_hold() -> None:
    """A law of which only the step is known gets what is learnt added behind it, within its limit."""

    class Plain:
        sample_time, measures, limit = 1e-3, ("joint1_angle", "joint1_rate"), 0.3
        drives, follows = ("joint1_torque",), ("chord1_angle",)

        def initial(self):
            return 0.0

        def step(self, state, t, y, r):
            u = 1.0 * (r[0] - y[0]) + 0.05 * (r[1] - y[1]) + 0.05 * r[2]
            return np.clip([u], -self.limit, self.limit), state

    found = fx.learn(
        arm(), Plain(), {"chord1_angle": MOVE}, models={"0 g": arm()}, cutoff=4.0, runs=2, regularisation=1e-6,
        before=0.2, after=0.6,
    )
    assert found.errors[2]["chord1_angle"] < 0.2 * found.errors[0]["chord1_angle"]
    assert np.abs(found.run["joint1_torque"]).max() <= 0.3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"cutoff": 600.0}, "cutoff"), ({"gain": 0.0}, "gain"), ({"runs": -1}, "runs"), ({"before": -1.0}, "before"),
        ({"outputs": ("tip_x",)}, "tip_x"), ({"by": "joint1_angle"}, "by"), ({"regularisation": 1.0}, "regularisation"),
    ],
)
def test_wrong_input_is_refused(options, told) -> None:
    with pytest.raises(fx.DefinitionError, match=told):
        learn(**options)


def test_an_unstable_model_is_named() -> None:
    with pytest.raises(fx.DefinitionError, match="unstable on 500 g"):
        learn(masses=(0.0, 0.5))


def test_a_scheduled_law_needs_to_know_where_it_is_frozen() -> None:
    script = fx.load_controller("planar_2r_scheduled")
    plant = fx.load_plant(script.PLANT)
    made = script.design(plant)
    with pytest.raises(fx.NotAvailable, match="frozen"):
        fx.learn(
            plant.with_(script.SETTINGS), made, fx.references(plant, script.MOVES, made), models={"here": plant},
            cutoff=5.0,
        )
