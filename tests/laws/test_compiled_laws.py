"""Blended and governed laws in the compiled time loop: the same run, to the last bit, as with the law in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.laws.added import Added, with_added
from flexctl.laws.compiled import compile_law
from flexctl.laws.controller import LinearLaw, bare
from flexctl.laws.layered import layers_of

TS = 1e-3
ARM = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 10, "damping": {"kind": "modal", "ratio": 0.01}})
SIGNALS = {"measures": ("joint1_angle",), "drives": ("joint1_torque",), "follows": ("joint1_angle",)}
MOVE = dict.fromkeys(("joint1_angle", "chord1_angle"), fx.quintic(0.0, 1.0, 0.5))


@dataclass(frozen=True)
class InPython:
    """A law that no loop compiles, since its kind is not known."""

    law: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.law, name)

    def with_references(self, references: Any) -> InPython:
        return InPython(self.law.with_references(references))


def filtered_pd(kp: float, pole: float) -> LinearLaw:
    """A PD whose rate is filtered, with another number of states for every pole: none, or two."""
    kd, a = 0.3 * kp, np.exp(-TS * pole)
    own = {"lower": np.array([-0.4]), "upper": np.array([0.4]), "Dr": [[kp, kd, 0.0]]}
    if not pole:
        return LinearLaw(TS, **SIGNALS, Dy=[[-kp]], **own)
    A, By, C = [[a, 0.0], [0.0, 0.5]], [[1.0 - a], [0.1]], [[kd * pole, -0.01]]
    return LinearLaw(TS, **SIGNALS, A=A, By=By, C=C, Dy=[[-kp - kd * pole]], Bu=[[0.0], [0.02]], **own)


def laws() -> dict[str, Any]:
    linear = ARM.linearise()
    plain = bare(fx.joint_pd(linear, kp=0.3, kd=0.08, filter_time=4e-3, sample_time=TS, limit=0.4))
    pd = fx.Delayed(plain, 2)
    governed = fx.governor(pd, linear, modes=1, margin=0.1)
    parts = filtered_pd(0.6, 250.0), filtered_pd(1.2, 0.0), filtered_pd(2.0, 120.0)
    blended = fx.blended([fx.Delayed(law, 2) for law in parts], (0.0, 0.3, 1.5), "joint1_angle", mirrored=True)
    return {
        "governed": bare(governed), "governed, no delay": bare(fx.governor(plain, linear, modes=1)),
        "governed, brake": bare(fx.governor(pd, linear, modes=1, margin=0.2, brake=0.3)),
        "governed, noisy": fx.Noisy(bare(governed), {"joint1_angle": 1e-5}), "blended": blended,
        "blended, 12 bits": fx.Quantised(blended, {"joint1_angle": 2.0 * np.pi / 2**12}),
        "blended by another": fx.blended([fx.Delayed(law) for law in parts], (0.0, 0.3, 1.5), "chord1_angle"),
    }


@pytest.mark.parametrize("name", laws())
def test_a_run_is_the_same_compiled_and_in_python(name: str) -> None:
    law = laws()[name]
    wanted = {channel: MOVE[channel] for channel in law.follows}
    runs = [fx.simulate(ARM, one, wanted, duration=1.0, method="march") for one in (law, InPython(law))]
    for key in ("joint1_angle", "chord1_angle", "joint1_torque"):
        assert np.array_equal(*(run[key] for run in runs)), key
    known = law.with_references(MOVE) if "governed" in name else law
    assert compile_law(known, ARM.model, np.arange(3) * TS) is not None
    if "governed" in name:
        free = fx.simulate(ARM, law.law.law if "noisy" in name else law.law, wanted, duration=1.0, method="march")
        assert np.abs(free["joint1_torque"] - runs[0]["joint1_torque"]).max() > 0.05, "the governor slows the path"


def wrapped() -> dict[str, Any]:
    """Laws inside wrappers that no loop has as parts of its own, in orders that matter."""
    made = laws()
    observing = fx.Delayed(filtered_pd(1.2, 120.0), 1)
    frozen, missed = {"joint1_angle": 0.3}, (0.1, 0.25, 0.2515)
    return {
        "frozen": fx.Frozen(observing, frozen), "missed": fx.Missed(observing, missed),
        "late misses": fx.Delayed(fx.Missed(observing, missed), 2),
        "misses of the late": fx.Missed(fx.Delayed(observing, 2), missed),
        "frozen noise": fx.Frozen(fx.Noisy(observing, {"joint1_angle": 1e-4}), frozen),
        "noise of the frozen": fx.Noisy(fx.Missed(fx.Frozen(observing, frozen), missed), {"joint1_angle": 1e-4}),
        "noise, missed": fx.Missed(fx.Noisy(observing, {"joint1_angle": 1e-4}), missed),
        "rounded twice": fx.Quantised(fx.Quantised(observing, {"joint1_angle": 1e-3}), {"joint1_angle": 7e-4}),
        "clipped": fx.Saturated(observing, 0.1), "frozen blended": fx.Frozen(made["blended by another"], frozen),
        "missed blended": fx.Saturated(fx.Missed(made["blended"], missed), 0.3),
        "late governed": fx.Delayed(made["governed"]),
        "clipped governed": fx.Saturated(made["governed, no delay"], 0.2),
        "missed governed": fx.Missed(fx.Frozen(made["governed"], frozen), missed),
        "later governed": fx.Delayed(fx.Saturated(fx.Delayed(made["governed"], 2), 0.2), 3),
    }


@pytest.mark.parametrize("name", wrapped())
def test_wrappers_in_any_order_run_compiled_and_give_the_same(name: str) -> None:
    law = wrapped()[name]
    wanted = {channel: MOVE[channel] for channel in law.follows}
    known = law.with_references(wanted)
    assert compile_law(known, ARM.model, np.arange(3) * TS) is not None
    runs = [fx.simulate(ARM, one, wanted, duration=0.6, method="march") for one in (law, InPython(law))]
    for key in ("joint1_angle", "chord1_angle", "joint1_torque"):
        assert np.array_equal(*(run[key] for run in runs)), key
    whole = layers_of(law)[1]
    free = fx.simulate(ARM, whole, wanted, duration=0.6, method="march")
    assert np.abs(free["joint1_torque"] - runs[0]["joint1_torque"]).max() > 1e-6, "the wrappers do something"


def test_sequences_are_added_to_a_governed_law_in_the_loop() -> None:
    law = with_added(laws()["governed"], {"joint1_torque": 0.3})
    assert isinstance(law, Added)
    wanted = {**dict.fromkeys(law.follows, MOVE["joint1_angle"]), "joint1_torque_learnt": fx.quintic(0.0, 0.02, 0.2)}
    for one in (law, fx.Missed(fx.Delayed(law), (0.1,))):
        assert compile_law(one.with_references(wanted), ARM.model, np.arange(3) * TS) is not None
        runs = [fx.simulate(ARM, each, wanted, duration=0.6, method="march") for each in (one, InPython(one))]
        assert np.array_equal(*(run["joint1_torque"] for run in runs))


def test_what_a_loop_cannot_do_is_left_to_python() -> None:
    law = InPython(filtered_pd(1.2, 120.0))
    for other in (law, fx.Delayed(law), fx.Missed(fx.Frozen(law, {"joint1_angle": 0.1}), (0.2,))):
        assert compile_law(other, ARM.model, np.arange(3) * TS) is None


def test_a_function_of_another_signature_has_no_address() -> None:
    from flexctl.kernels.pointers import address
    from flexctl.laws.ordered_kernel import weights

    with pytest.raises(TypeError, match="signature"):
        address(weights)
