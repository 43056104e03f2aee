"""Linear and quasi-static analyses of spatial arms, and what a run can meet."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from test_planar_commands import Turning
from test_spatial_stepper import FLAT, MOTIONS, SOFT, TIGHT, arm_3r, crooked, moving, prepared, thesis_arm

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.kernels.schemes import generalised_alpha, trapezoidal
from flexctl.laws.compiled import empty_law
from flexctl.laws.controller import LinearLaw
from flexctl.machine.arm import Arm, Damping, Joint, Link, Material, Section
from flexctl.models.timoshenko_spatial import TimoshenkoSpatial
from flexctl.models.timoshenko_spatial.rigid import axial_forces
from flexctl.motion.moves import Cycloid, PiecewiseConstant, Step, bang_bang, quintic
from flexctl.motion.profiles import SpinUp
from flexctl.simulation.grid import commands
from flexctl.testing.differences import assert_same, order

BENDING = {"joint1": quintic(0.3, 1.5, 0.3), "joint2": quintic(0.4, 0.6, 0.3), "joint3": quintic(0.1, -0.9, 0.3)}


def apart(stiffness: float, one: str, other: str, section: Section = FLAT) -> tuple[float, float, float]:
    """Largest tip error, and how far two analyses differ: tip, and efforts relative to the largest."""
    options = {"motions": BENDING, "duration": 0.4, "step": 1e-3, "scheme": generalised_alpha(0.6)}
    run, wanted = (
        fx.simulate(crooked(stiffness, x, section), **options)
        for x in (one, other)
    )
    tip = max(float(np.abs(run[f"tip_{x}"] - wanted[f"tip_{x}"]).max()) for x in "xyz")
    efforts = ("joint1_torque", "joint2_force", "joint3_torque")
    force = max(float(np.abs(run[x] - wanted[x]).max() / np.abs(wanted[x]).max()) for x in efforts)
    return max(float(np.abs(wanted[f"tip_error_{x}"]).max()) for x in "xyz"), tip, force


def test_linear_analysis_is_the_nonlinear_one_to_first_order() -> None:
    """Four times stiffer: a quarter of the deformation, a sixteenth of what the linear analysis misses."""
    soft, stiff = apart(16e9, "linear", "nonlinear"), apart(64e9, "linear", "nonlinear")
    assert soft[0] / stiff[0] == pytest.approx(4.0, rel=0.1)
    assert 5e-3 < soft[0] < 1e-2
    assert soft[1] / stiff[1] > 14.0
    assert soft[1] < 5e-3 * soft[0]
    assert soft[2] / stiff[2] > 3.0
    assert stiff[2] < 2e-3


def test_linear_analysis_has_the_rotary_inertia_to_first_order() -> None:
    """Sections with a radius of gyration of 0.3 m in fast turns: spin, and its change by the deformation."""
    heavy = Section(900e-6, 8e-5, 0.5314, second_moment_y=2e-5)
    soft, stiff = apart(16e9, "linear", "nonlinear", heavy), apart(64e9, "linear", "nonlinear", heavy)
    assert soft[1] / stiff[1] > 14.0
    assert soft[1] < 5e-3 * soft[0]


def test_axial_forces_are_those_of_the_rigid_arm() -> None:
    """Of bodies, rigid kinks, and what slides, with its Coriolis force, in the linear analysis."""
    model, h, n = crooked(64e9, "linear"), 1e-3, 150
    rows = np.array([commands(name, m, h * np.arange(n + 1), h)[[0, 1, 2], n] for name, m in BENDING.items()])
    stepper, _ = prepared(model, TIGHT, *model.start({k: [float(x) for x in m(0.0)[:2]] for k, m in BENDING.items()}),
                          n, h, BENDING)
    law, memory = empty_law()
    stepper.advance(law, memory, 0, n)
    q, v, a = model.rigid_motion(*rows.T)
    rigid = model.mass(q) @ a + TimoshenkoSpatial(replace(model.arm, damping=Damping()), elements=2).force(q, v)
    wanted = axial_forces(model.mesh, rigid, rows[:, 0])
    assert np.abs(wanted).min() > 1.0
    np.testing.assert_allclose(stepper.form.work.pull, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_quasi_static_analysis_is_what_a_stiff_damped_arm_does() -> None:
    """Four times stiffer: a sixteenth of the inertia of the deformation, a quarter of its damping."""
    soft, stiff = apart(16e9, "quasi_static", "linear"), apart(64e9, "quasi_static", "linear")
    assert soft[1] / stiff[1] > 6.0
    assert stiff[1] < 0.15 * stiff[0]


def test_quasi_static_arm_that_stays_is_at_rest() -> None:
    model = crooked(1e9, "quasi_static")
    phi = (0.5, 0.45, -0.3)
    moves = {f"joint{i}": Step(x, x) for i, x in enumerate(phi, 1)}
    run = fx.simulate(model, motions=moves, duration=0.01, record_states=True)
    assert run.q is not None
    still = model.rest(phi)
    sag = np.abs(still - model.pose(phi)).max()
    np.testing.assert_allclose(run.q[-1], still, rtol=0, atol=2e-3 * sag)
    efforts = [run[name][-1] for name in ("joint1_torque", "joint2_force", "joint3_torque")]
    held = model.rigid_torques(phi, (0.0,) * 3, (0.0,) * 3)  # statically determinate
    np.testing.assert_allclose(efforts, held, rtol=0, atol=0.05 * np.abs(held).max())
    bare = TimoshenkoSpatial(model.arm, elements=2, analysis="quasi_static", stiffening=False)
    run = fx.simulate(bare, motions=moves, duration=0.01, record_states=True)
    assert run.q is not None
    np.testing.assert_allclose(run.q[-1], bare.rest(phi), rtol=0, atol=2e-3 * sag)


def test_linear_spin_needs_the_stiffening() -> None:
    """A soft bar about a vertical axis at three times its frequency: it stands only with its centrifugal force."""
    bar = Link(1.0, Material(2e9, 1000.0), Section(1e-4, 1e-9))
    arm = Arm("spun", (replace(bar, twist=0.0),), (Joint(),))
    spin = {"joint1": SpinUp(40.0, 8.0)}
    lifted = {"tip_force_z": PiecewiseConstant((8.0,), (0.0, 0.05))}
    runs = [
        fx.simulate(TimoshenkoSpatial(arm, elements=4, analysis=x), motions=spin, duration=8.5, inputs=lifted)
        for x in ("nonlinear", "linear")
    ]
    assert runs[0]["tip_z"].max() > 1e-3
    assert np.abs(runs[1]["tip_z"] - runs[0]["tip_z"]).max() < 0.02 * runs[0]["tip_z"].max()
    bare = TimoshenkoSpatial(arm, elements=4, analysis="linear", stiffening=False)
    with pytest.raises(ConvergenceError, match="diverged"):
        fx.simulate(bare, motions=spin, duration=8.5)


def test_post_that_spins_about_itself_whirls_in_the_linear_analysis_too() -> None:
    """A stout post at 60 rad/s, pushed sideways: rotary inertia, its gyroscopic moments first of all, bends it.

    Both analyses take the same steps: by rtol each would choose its own, and differ by what rtol allows.
    """
    post = Link(0.0, Material(1e6, 1000.0), Section(0.01, 1e-4), kink=0.5)
    spin = {"joint1": Turning(60.0)}
    push = {"tip_force_x": bang_bang(1e-3, 0.1)}
    runs = {
        name: [
            fx.simulate(
                TimoshenkoSpatial(
                    Arm("post", (post,), (Joint(),)), elements=3, analysis=analysis, stiffening=analysis == "nonlinear"
                ),
                motions=motions, duration=0.5, step=1e-3, inputs=push,
            )
            for analysis in ("nonlinear", "linear")
        ]
        for name, motions in (("spinning", spin), ("still", {"joint1": Step(0.0, 0.0)}))
    }
    one, other = runs["spinning"]
    largest = np.abs(one["tip_x"]).max()
    assert np.abs(one["tip_y"]).max() > 0.03 * largest
    assert np.abs(runs["still"][0]["tip_y"]).max() < 1e-6 * largest
    for x in ("tip_x", "tip_y"):
        np.testing.assert_allclose(other[x], one[x], rtol=0, atol=1e-4 * largest)


# --- energy, payload, refusals


def test_free_arm_in_space_keeps_its_energy_at_second_order() -> None:
    model = TimoshenkoSpatial(arm_3r(SOFT, gravity=(0.0, 0.0, -9.81)), elements=2)
    start = moving(model, (0.5, -1.0, 1.5))

    def drift(step: float) -> float:
        run = fx.simulate(
            model, duration=0.3, step=step, scheme=trapezoidal(), initial=start, record_states=True
        )
        energy = np.array([model.energy(q, v) for q, v in zip(run.q[::20], run.v[::20], strict=True)])  # type: ignore[index]
        assert np.ptp(energy, axis=0).min() > 0.5
        return float(np.abs(energy.sum(axis=1) - energy[0].sum()).max())

    errors = [drift(h) for h in (5e-4, 2.5e-4, 1.25e-4)]
    assert errors[-1] < 1e-3
    assert order(errors).min() > 1.8


def test_payload_taken_on_the_way() -> None:
    """Joints commanded all along: before the change as without it, afterwards not.

    By steps of one length: those chosen by rtol depend on the range of the outputs, which the payload changes.
    """
    model = thesis_arm(3)
    runs = [fx.simulate(model, motions=MOTIONS, duration=1.5, step=1e-3, payload=p) for p in ((), [(0.8, 5.0, 0.0)])]
    early = runs[0].t < 0.799
    assert_same(*(replace(r, t=r.t[early], y=r.y[early], u=r.u[early]) for r in runs), tolerance=1e-13)
    assert np.abs(runs[0]["tip_z"] - runs[1]["tip_z"]).max() > 1e-4


def test_linear_analyses_need_every_joint_commanded_and_no_controller() -> None:
    with pytest.raises(DefinitionError, match="joint2 has no command"):
        fx.simulate(thesis_arm(1, analysis="linear"), motions={"joint1": MOTIONS["joint1"]}, duration=0.1)
    law = LinearLaw(1e-3, ("tip_x",), ("tip_force_x",), Dy=[[1.0]])
    with pytest.raises(NotAvailable, match="no rates for a controller"):
        fx.simulate(thesis_arm(1, analysis="quasi_static"), law, motions=MOTIONS, duration=0.1)


@pytest.mark.parametrize("analysis", ["nonlinear", "linear", "quasi_static"])
def test_slide_that_is_commanded_into_its_guide_is_refused(analysis: str) -> None:
    model = TimoshenkoSpatial(fx.load_plant("spatial_rp").arm, elements=2, analysis=analysis)
    moves = {"joint1": Step(0.0, 0.0), "joint2": Cycloid(0.5, -0.1, 0.5)}
    with pytest.raises(ConvergenceError, match=r"joint2 .* retracted .* at t = 0\.3\d* s.* above 0") as caught:
        fx.simulate(model, motions=moves, duration=0.5)
    assert 0.3 < caught.value.time < 0.4


def test_divergence_names_time_and_step() -> None:
    law = LinearLaw(1e-2, ("joint1_rate",), ("joint1_torque",), Dy=[[5e4]])
    with pytest.raises(ConvergenceError, match=r"t = .*(smaller step|diverged)") as caught:
        fx.simulate(thesis_arm(1), law, duration=2.0, inputs={"joint1_torque": bang_bang(1.0, 0.1)})
    assert math.isfinite(caught.value.time)
