"""No model leaves a feature of an arm out without a word, and docs/models.md says which model has which."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl.catalogue.features import PROBES, refusal, table
from flexctl.errors import DefinitionError, NotAvailable
from flexctl.exact.euler_bernoulli import ExactBeam
from flexctl.exact.transfer_matrix import TransferMatrixArm
from flexctl.machine.arm import Arm, Body, Joint, Link, Payload
from flexctl.model import names
from flexctl.models import REGISTRY, build
from flexctl.models.features import EXACT, LAYERED, OTHERS, known_features

KINDS = [*REGISTRY, *EXACT]


def two(drive: str = "torque", **changes: object) -> Arm:
    """Return the catalogue's arm of two links, its second joint driven otherwise."""
    arm = fx.load_plant("planar_2r_flexible").arm
    joints = (arm.joints[0], replace(arm.joints[1], drive=drive, friction=0.0))
    return replace(arm, joints=joints, **changes)  # type: ignore[arg-type]


def knows(kind: str) -> frozenset[str]:
    """What a kind takes: what it knows by itself and, of the registry, what is put around its joints."""
    return known_features(kind) | (LAYERED if kind in REGISTRY else frozenset())


def test_the_table_in_docs_is_up_to_date() -> None:
    text = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    assert text.endswith(f"\n## Features\n\n{table()}"), "run: python -m flexctl.catalogue.features docs/models.md"


def test_every_feature_has_a_small_arm() -> None:
    """`Arm.features` builds its words from these."""
    source = inspect.getsource(Arm.features)
    words = set().union(*(knows(kind) for kind in KINDS)) | set(re.findall(r'found\["(\w+)"\]', source))
    assert words <= PROBES.keys()
    for feature in PROBES.keys() - OTHERS.keys():
        assert feature in PROBES[feature][1]().features(), feature


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_model_does_not_know_it_refuses(kind: str) -> None:
    for feature in PROBES.keys() - OTHERS.keys():
        needed = PROBES[feature][1]().features().keys()
        alone = needed <= knows(kind)
        if alone and not refusal(feature, kind):
            continue
        assert refusal(feature, kind), f"{kind} takes {feature} without knowing it"
        text = refusal(feature, kind)
        assert re.search(r"ha(s|ve) no|one link|knows? no weight|is horizontal", text), text
        able = [k for k in REGISTRY if needed <= knows(k) and not refusal(feature, k)]
        assert all(k in text for k in able) or re.search("one link|weight|horizontal", text), text


@pytest.mark.parametrize("word", OTHERS)
def test_what_is_refused_in_other_words_names_the_models_too(word: str) -> None:
    for kind in KINDS:
        taken = kind in OTHERS[word] or (kind == "transfer_matrix" and word in ("links", "actuator"))
        assert bool(refusal(word, kind)) != taken
        assert not refusal(word, kind) or all(name in refusal(word, kind) for name in OTHERS[word])


def test_transfer_matrices_take_bodies_and_refuse_what_they_left_out() -> None:
    """A body in the middle of the first link: 49.84 Hz came out unchanged."""
    arm = two(bodies=(Body(1, 0.5, 5.0),))
    other = fx.linearise(fx.build(arm, "assumed_modes", modes=8, attachment=True)).modes(1).frequencies_hz[0]
    assert TransferMatrixArm(arm).natural_frequencies(1)[0] / (2.0 * np.pi) == pytest.approx(other, rel=2e-3)
    assert other == pytest.approx(26.8, abs=0.1)
    with pytest.raises(DefinitionError, match=r"transfer_matrix has no tip on another link \(.*assumed_modes"):
        TransferMatrixArm(two(payload=Payload(0.1, 0.0, link=1)))
    for plant, feature in (("ralf", "massless link"), ("spatial_rp", "kink"), ("spatial_3r", "kink|twist")):
        with pytest.raises(DefinitionError, match=f"transfer_matrix has no ({feature})"):
            TransferMatrixArm(replace(fx.load_plant(plant).arm, gravity=(0.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    ("joint", "feature"),
    [
        (Joint(drive="servo", servo_stiffness=10.0), "servo drive"),
        (Joint(stiffness=100.0), "joint stiffness"),
        (Joint(friction=0.1), "joint friction"),
        (Joint(rotor_inertia=0.01), "rotor inertia"),
        (Joint(drive="motion"), "motion drive"),
    ],
)
def test_the_exact_beam_refuses_what_it_left_out(joint: Joint, feature: str) -> None:
    arm = replace(fx.load_plant("tokhi_azad_1994").arm, joints=(joint,))
    with pytest.raises(DefinitionError, match=rf"exact_beam has no {feature} \(joint 1\).*finite_segment"):
        ExactBeam(arm)
    pushed = PROBES["actuator"][1]()
    with pytest.raises(NotAvailable, match=r"exact_beam has no forces along a link; .* ancf, finite_segment"):
        ExactBeam(pushed)


def test_free_joints_are_those_of_torque_without_the_torque() -> None:
    free, driven = TransferMatrixArm(two("free")), TransferMatrixArm(two())
    assert free.rigid_modes == 2
    assert free.poles_at_zero == 4
    inputs = names(driven.inputs)
    assert names(free.inputs) == [name for name in inputs if name != "joint2_torque"]
    omega = driven.natural_frequencies(4)
    np.testing.assert_allclose(free.natural_frequencies(4), omega, rtol=1e-12)
    fine = fx.linearise(build(two(), "timoshenko_planar", elements=24)).modes(4)
    np.testing.assert_allclose(2 * np.pi * fine.frequencies_hz, omega, rtol=1.2e-2)  # of second order, 1 % in the 4th
    s = np.array([0.5j, 10 + 80j, 400j])
    kept = [inputs.index(name) for name in names(free.inputs)]
    np.testing.assert_allclose(free.transfer(s), driven.transfer(s)[:, kept], rtol=1e-12)
    plant, other = free.modal_plant(3), driven.modal_plant(3)
    assert plant.modes().rigid_modes == 2
    np.testing.assert_allclose(plant.transfer(s), other.transfer(s)[:, kept], rtol=1e-9, atol=1e-14)
    zeros = [model.zeros("tip_y", "joint1_torque", below=300.0) for model in (free, driven)]
    np.testing.assert_allclose(zeros[0], zeros[1], rtol=1e-9)
    shapes = [model.mode_shapes(2)[1].displacement for model in (free, driven)]
    np.testing.assert_allclose(shapes[0], shapes[1], atol=1e-9)


def test_a_free_joint_of_one_link_is_a_pendulum_without_weight() -> None:
    bar: Link = fx.load_plant("tokhi_azad_1994").arm.links[0]
    free = TransferMatrixArm(Arm("swing", (bar,), (Joint(drive="free"),)))
    assert (free.rigid_modes, names(free.inputs)) == (1, ["tip_force_x", "tip_force_y", "tip_torque"])
    gain = free.transfer(np.array([1e-3j]))[names(free.outputs).index("tip_y"), 1, 0]
    assert gain * (1e-3j) ** 2 == pytest.approx(3.0 / bar.mass, rel=1e-4)


def test_friction_adds_to_the_impedance_of_a_joint() -> None:
    """1 / H grows by c s, H from the torque of a joint to its angle."""
    s = np.array([2j, 3.0 + 40j, 500j])
    bar: Link = fx.load_plant("tokhi_azad_1994").arm.links[0]
    smooth, rough = (TransferMatrixArm(Arm("one", (bar,), (Joint(0.01, friction=c),))) for c in (0.0, 0.02))
    H, own = (model.transfer(s)[names(model.outputs).index("joint1_angle"), 0] for model in (smooth, rough))
    np.testing.assert_allclose(1.0 / own, 1.0 / H + 0.02 * s, rtol=1e-10)
