"""How much every command bears whatever the payload: against loops that are marginal, and plants that are heavier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla

import flexctl as fx
from flexctl.judging.certify import bound as bounds
from flexctl.judging.certify import robust
from flexctl.judging.certify.bound import CrossedBounds, PayloadBound
from flexctl.judging.certify.jobs import jobs
from flexctl.judging.certify.task import prepared
from flexctl.linear.interconnect import closed_loop


@cache
def case(name: str) -> tuple[fx.Plant, Any]:
    script = fx.load_controller(name)
    plant = fx.load_plant(script.PLANT)
    return plant.with_(overrides=script.SETTINGS), script.design(plant).law


@cache
def found(name: str) -> PayloadBound:
    plant, law = case(name)
    bound = robust.payload_bound(plant, law, 0.0, 0.020)
    assert isinstance(bound, PayloadBound), bound
    return bound


@pytest.mark.parametrize(("name", "attained"), [("tokhi_azad_lqg", 0.9892), ("tokhi_azad_hinf", 1.0021)])
def test_it_is_never_below_what_is_attained(name: str, attained: float) -> None:
    """0.3 max|T| at 0 g from loop_gain; with the damping frozen at 10 g the bounds were 0.9739 and 0.9888."""
    bound = found(name)
    assert bound.lower == pytest.approx(attained, abs=1e-4)
    assert bound.lower <= bound.largest <= 1.02 * bound.lower
    assert bound.payload == 0.0
    assert bound.worst_case_gain == pytest.approx(bound.largest / 0.3)
    assert f"{bound.lower:.4g} <= mu <= {bound.largest:.4g}" in str(bound)
    assert ("not shown" in str(bound)) == (attained > 1.0)


def test_there_is_a_command_that_reaches_the_lower_bound() -> None:
    """A stable all-pass of size 0.3 / lower, below 0.3, at the command: its loop is marginal at that frequency."""
    plant, law = case("tokhi_azad_hinf")
    bound, T = found("tokhi_azad_hinf"), 1e-3
    linear = plant.with_(overrides={"payload.mass": bound.payload}).linearise()
    feedback, size, z = law.feedback(), 0.3 / bound.lower, np.exp(1j * bound.frequency * T)
    assert size < 0.3
    L = fx.loop_gain(linear, law).transfer(np.array([z]))[0, 0, 0]
    wanted = -(1.0 + L) / L  # 1 + (1 + delta) L = 0
    assert abs(wanted) == pytest.approx(size, rel=1e-4)
    # sign (1 - a z)/(z - a) with |a| < 1 takes every phase once
    choices = [(sign, a) for sign in (1.0, -1.0) for a in np.linspace(-0.99999, 0.99999, 200_001)[1:-1:1]]
    values = np.array([sign for sign, _ in choices]) * np.concatenate(
        [(1.0 - a * z) / (z - a) for a in (np.linspace(-0.99999, 0.99999, 200_001)[1:-1],) * 2]
    )
    sign, a = choices[int(np.argmin(np.abs(values - wanted / abs(wanted))))]
    plant_seen, stable = linear.discrete(T), []
    for factor in (0.995, 1.005):
        g, n = sign * factor * size, len(feedback.A)
        A = np.block([[feedback.A, np.zeros((n, 1))], [feedback.C, np.array([[a]])]])
        C = np.hstack([(1.0 - g * a) * feedback.C, [[g * (1.0 - a * a)]]])
        more = replace(
            feedback, A=A, B=np.vstack([feedback.B, feedback.D]), C=C, D=(1.0 - g * a) * feedback.D,
            states=(*feedback.states, fx.Signal("allpass")),
        )
        stable.append(bool(np.abs(closed_loop(plant_seen, more).poles()).max() < 1.0))
    assert stable == [True, False]


def test_unstable_within_the_range() -> None:
    plant, law = case("tokhi_azad_lqg")
    bound = robust.payload_bound(plant, law, 0.0, 0.025)
    assert isinstance(bound, PayloadBound)
    assert bound.unstable == 0.025
    assert 1.25 <= bound.largest <= 1.5, "near its limit of 24.8 g the loop bears less than 30 %"
    assert "UNSTABLE at 25 g" in str(bound)


def test_a_bound_that_is_crossed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the damping frozen in one wide piece the bound falls below what is attained, and that is found out."""
    plant, law = case("tokhi_azad_lqg")
    monkeypatch.setattr(bounds, "_dampings", lambda middle, others: np.zeros((len(middle.M), 0)))
    monkeypatch.setattr(bounds, "PIECES", 1)
    with pytest.raises(CrossedBounds, match="is attained with a payload of"):
        robust.payload_bound(plant, law, 0.0, 0.020)


def test_commands_within_the_bound_are_borne_at_payloads_in_between() -> None:
    """Random complex factors at the edge of what is claimed, frequencies apart: 1 + (1 + delta) L is never zero."""
    plant, law = case("tokhi_azad_lqg")
    bound = found("tokhi_azad_lqg")
    omega = bound.omega[(bound.omega > 1.0)]
    for mass in (0.0007, 0.0031, 0.0113, 0.0189):
        linear = plant.with_(overrides={"payload.mass": mass}).linearise()
        L = fx.loop_gain(linear, law).transfer(np.exp(1j * omega * 1e-3))[0, 0]
        assert np.abs(0.3 * L / (1.0 + L)).max() <= bound.largest


@pytest.mark.parametrize("kind", ["finite_difference", "timoshenko_planar"])
def test_the_blocks_are_the_payload(kind: str) -> None:
    """Closed by hand with force = -dm acceleration they give the response of the arm with the heavier payload."""
    plant = fx.load_plant("tokhi_azad_1994").with_(model=kind)
    s, dm = 1j * np.array([3.0, 40.0, 170.0, 900.0]), 0.004
    middle, other, low = (plant.with_(overrides={"payload.mass": m}).linearise() for m in (0.010, 0.012, 0.008))
    e = bounds._directions(middle, other, 0.002, low)
    linear, k = bounds._extended(middle, e, np.zeros((len(middle.M), 0))), e.shape[1]
    heavier = plant.with_(overrides={"payload.mass": 0.014}).linearise().transfer(s)
    P = np.moveaxis(linear.transfer(s), 2, 0)
    ny = P.shape[1] - k
    a_u, a_f = P[:, ny:, : P.shape[2] - k], P[:, ny:, P.shape[2] - k :]
    force = -dm * np.linalg.solve(np.eye(k) + dm * a_f, a_u)
    closed = P[:, :ny, : P.shape[2] - k] + P[:, :ny, P.shape[2] - k :] @ force
    scale = np.abs(heavier).max(axis=2, keepdims=True)
    assert np.abs(np.moveaxis(closed, 0, 2) - heavier).max() <= 1e-7 * scale.max()
    assert closed[:, 0, 0] == pytest.approx(heavier[0, 0], rel=1e-6)


def test_the_damping_blocks_contain_the_dampings_of_the_piece() -> None:
    """D of every payload of a piece is D of its middle plus v Delta v' with |Delta| <= 1, but for 0.1 % of a mode's."""
    plant, _ = case("tokhi_azad_lqg")
    linear = {m: plant.with_(overrides={"payload.mass": m}).linearise() for m in (0.0, 0.001, 0.0025, 0.0042, 0.005)}
    middle = linear[0.0025]
    v = bounds._dampings(middle, [linear[0.0], linear[0.005]])
    assert 0 < v.shape[1] < 9
    _, modes = sla.eigh(middle.K, middle.M)
    own = np.abs(np.diag(modes.T @ middle.D @ modes))
    weight = np.sqrt(np.maximum(own, 1e-6 * own.max()))
    inside = modes.T @ v / weight[:, None]
    inverse = np.linalg.pinv(inside)
    for mass, other in linear.items():
        change = modes.T @ (other.D - middle.D) @ modes / np.outer(weight, weight)
        delta = inverse @ change @ inverse.T
        assert np.linalg.norm(delta, 2) <= 1.0, mass
        assert np.linalg.norm(change - inside @ delta @ inside.T, 2) <= 3e-3, mass


def test_under_gravity_there_is_none_and_nothing_is_linearised_where_it_does_not_rest() -> None:
    """It was taken with every payload in the equilibrium of one of them, and then refused."""
    arm = fx.load_plant("rotating_link", overrides={"model.elements": 2, "gravity.y": -9.81})
    law = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), Dy=[[-400.0, -90.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = robust.payload_bound(arm, law, 0.0, 0.5, fx.rest_point(arm))
    assert "under gravity" in str(told)


@pytest.mark.parametrize("part", [-1.0, -0.3, 1.0])
def test_a_piece_closed_by_its_block_is_the_loop_at_that_payload(part: float) -> None:
    """A block of size 1 is the whole change of the payload from the middle to an end of the piece."""
    arm = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 8})
    law = fx.LinearLaw(0.0, ("joint1_angle", "joint1_rate"), ("joint1_torque",), Dy=[[-0.4, -0.1]])
    search = bounds._Search(lambda mass: arm.with_(overrides={"payload.mass": mass}).linearise(), law)
    piece, omega = bounds._Piece.of(search, 0.002, 0.010), np.array([2.0, 20.0, 70.0, 150.0, 600.0])
    M, k = piece.response(omega), sum(piece.sizes) - piece.commands
    change = part * np.eye(k) @ np.linalg.inv(np.eye(k) - part * M[:, :k, :k])
    closed = (M[:, k:, k:] + M[:, k:, :k] @ change @ M[:, :k, k:])[:, 0, 0]
    masses = [0.006 + sign * part * 0.004 for sign in (1.0, -1.0)]  # of which sign the block is does not matter
    loops = [fx.loop_gain(search.plant(mass), law).transfer(1j * omega)[0, 0] for mass in masses]
    wanted = [0.3 * np.abs(L / (1.0 + L)) for L in loops]
    assert min(np.abs(np.abs(closed) - one).max() / one.max() for one in wanted) < 1e-6


@pytest.mark.slow
def test_when_pieces_run_out_the_bound_is_raised_and_still_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm of little damping needs hundreds of pieces to come within half a percent of what is attained."""
    plant, law = case("tokhi_azad_lqg")
    close = found("tokhi_azad_lqg").largest
    monkeypatch.setattr(bounds, "MOST", 0)
    monkeypatch.setattr(bounds, "PIECES", 1)
    bound = robust.payload_bound(plant, law, 0.0, 0.02)
    assert isinstance(bound, PayloadBound)
    assert bound.pieces == 1
    assert close <= bound.largest < 10.0


@pytest.mark.slow
def test_a_bound_that_nothing_is_compared_with_is_given_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pieces bear no bound at all, as on an arm without damping; what is attained is still told."""
    plant, law = case("tokhi_azad_lqg")
    whole = found("tokhi_azad_lqg")
    monkeypatch.setattr(bounds, "PIECES", 1)  # one is not enough, but bears something
    raised = robust.payload_bound(plant, law, 0.0, 0.02, most=1)
    assert isinstance(raised, PayloadBound)
    assert raised.largest == pytest.approx(whole.largest, rel=0.025)
    monkeypatch.setattr(bounds, "HOPELESS", 0.5)
    told = robust.payload_bound(plant, law, 0.0, 0.02, most=1)
    assert isinstance(told, str)
    assert "mu is at least 0.9892" in told
    assert "more than 1 pieces" in told
    assert "require mu" in told


@pytest.mark.parametrize(
    ("required", "most"), [({}, (bounds.MOST_BEGIN, bounds.MOST_ASIDE)), ({"mu": 1.0}, (None, None))]
)
def test_with_a_requirement_of_mu_the_bound_is_searched_for_in_every_pose(required: Any, most: Any) -> None:
    task = prepared("tian_feedforward_tip", None, {**required, "payload_kg": (0.0, 2.0)}, None, None, None)
    given = [job[1][-1] for label, job in jobs(task).items() if label.startswith("bound ")]
    assert len(given) == 7, "where the path begins, and in six poses of it"
    assert given == [most[0]] + 6 * [most[1]]
