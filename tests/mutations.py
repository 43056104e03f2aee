"""The mutations of `make mutants`: wrong physics and wrong control laws, and the tests that should notice them.

Signs, factors and terms as they get lost when equations are written down. The text of each stands exactly once in
flexctl/, wherever its file is; the tests are quick ones that touch it, files or single tests below tests/.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A text of flexctl, what replaces it, and the tests that should fail then."""

    old: str
    new: str
    tests: tuple[str, ...]


def _mutation(old: str, new: str, *tests: str) -> Mutation:
    return Mutation(old, new, tests)


_BEAMS = (
    _mutation(
        "turned = 0.5 * np.stack([R[:, :, 1], -R[:, :, 0]], axis=1)",
        "turned = np.stack([R[:, :, 1], -R[:, :, 0]], axis=1)",
        "test_timoshenko_planar.py::test_tangents_against_complex_step",
    ),
    _mutation(
        "moment[e] = 0.5 * l[e] * (normal[e] * across[e] - shear[e] * along[e])",
        "moment[e] = 0.5 * l[e] * (normal[e] * across[e] - shear[e] * (along[e] + 0.01))",
        "test_planar_motion.py::test_own_stepper_takes_the_steps_of_the_plain_engine[none]",
    ),
    _mutation(
        "springs = 0.5 * float(self.kp @ q[self.mesh.joint] ** 2)",
        "springs = float(self.kp @ q[self.mesh.joint] ** 2)",
        "test_servo.py::test_springs_of_servos_keep_what_is_put_into_them",
    ),
    _mutation(
        "y[row] = -np.sin(theta) * acc[0] + np.cos(theta) * acc[1]",
        "y[row] = np.sin(theta) * acc[0] + np.cos(theta) * acc[1]",
        "test_timoshenko_planar.py::test_sensors_read_what_they_say",
        "test_timoshenko_planar.py::test_tangents_against_complex_step",
    ),
    _mutation(
        "(np.array([w[1], -w[0]]) - 2.0 * (turn @ w) * d)", "(np.array([w[1], -w[0]]) - (turn @ w) * d)",
        "test_timoshenko_planar.py::test_tangents_against_complex_step", "test_kinematics.py",
    ),
    _mutation(
        "l * (a1 * across - w1**2 * along)", "l * (a1 * across + w1**2 * along)",
        "test_timoshenko_planar.py::test_rigid_torques_are_those_of_lagrange", "test_kinematics.py",
    ),
    _mutation(
        "2.0 * w * rhoA * l * np.kron(T, turn)", "w * rhoA * l * np.kron(T, turn)",
        "test_timoshenko_element.py::test_terms_of_the_turning_frame_vanish_in_global_coordinates",
        "test_timoshenko_element.py::test_closed_forms_are_the_integrals",
    ),
    _mutation(
        "ends = EI / l + (ktGA * l / 12.0", "ends = EI / l + (ktGA * l / 6.0",
        "test_timoshenko_element.py::test_table_1_by_both_integration_rules",
    ),
    _mutation(
        "P = [m * l * (2.0 * v[k] + v[1 - k])", "P = [m * l * (1.5 * v[k] + 1.5 * v[1 - k])",
        "test_spatial_arms.py::test_kinetic_energy_of_the_bodies",
        "test_timoshenko_spatial.py::test_energy_grows_by_what_enters_at_the_guides",
    ),
    _mutation(
        "((change - rate**2 / free) * chord + rate * chord1)", "(change * chord + rate * chord1)",
        "test_spatial_arms.py::test_straight_rod_fed_at_a_constant_rate_needs_no_force",
        "test_spatial_arms.py::test_stiff_slide_moves_as_rigid_material",
    ),
    _mutation(
        "db, dc = np.where(small, db, (s - 2.0 * b) / (2.0 * t))",
        "db, dc = np.where(small, db, (s - b) / (2.0 * t))",
        "test_spatial_rotation.py", "test_timoshenko_spatial.py::test_tangents_of_an_arm_that_has_everything",
    ),
    _mutation(
        "moment = moment + apply(p.E, cross(p.offset[..., 0, :], force_back))",
        "moment = moment - apply(p.E, cross(p.offset[..., 0, :], force_back))",
        "test_timoshenko_spatial.py::test_energy_grows_by_what_enters_at_the_guides",
        "test_spatial_arms.py::test_rigid_kink_is_a_flexible_one_that_does_not_bend",
    ),
    _mutation(
        "np.asarray(upper + upper.T + np.diag(self.chain.second_moment))",
        "np.asarray(upper + upper.T + np.diag(self.chain.inertia))",
        "test_finite_segment.py::test_the_lagrangian_gives_the_equations",
        "test_finite_segment.py::test_one_segment_per_link_is_the_rigid_arm",
    ),
    _mutation(
        "h = (self.mu * np.sin(turn)) @ w**2 - self._moment(theta)",
        "h = (self.mu * np.sin(turn)) @ w**2 + self._moment(theta)",
        "test_finite_segment.py::test_a_cantilever_under_its_weight_and_a_soft_one_that_hangs",
        "test_finite_segment.py::test_the_lagrangian_gives_the_equations",
    ),
    _mutation(
        " + mass * (x - d) ** 2", "",
        "test_finite_segment.py::test_one_segment_per_link_is_the_rigid_arm",
    ),
    _mutation(
        "_point(_rotary(link, 1.0) * l2 / 2.0, 1.0)", "_point(_rotary(link, 1.0) * l2, 1.0)",
        "test_finite_segment.py::test_the_chain_has_the_mass_and_the_compliance_of_the_beam",
    ),
    _mutation(
        "K + 2.0 * stiff * (ends.T @ ends)", "K + stiff * (ends.T @ ends)",
        "test_finite_difference.py::test_frequencies",
        "test_finite_difference.py::test_frequencies_against_the_exact_beam",
    ),
    _mutation(
        "pinned = p.odd + 2.0 * mu * z * p.sS", "pinned = p.odd + mu * z * p.sS",
        "test_exact_beam.py::test_natural_frequencies",
    ),
    _mutation(
        "joint.servo_damping + joint.friction, *electric)", "joint.servo_damping, *electric)",
        "test_features.py::test_friction_adds_to_the_impedance_of_a_joint",
    ),
    _mutation(
        "return rho * A, rho * I, stretch, 1.0 / (section.shear_factor * G * A), 1.0 / (E * I)",
        "return rho * A, 0.0, stretch, 1.0 / (section.shear_factor * G * A), 1.0 / (E * I)",
        "test_transfer_matrix.py::test_timoshenko_beam_on_two_pins",
    ),
)

_ASSUMED = (
    _mutation(
        "zeta = f.x + (f.a - 0.5 * Hz) @ z + 1j * (f.b @ z)", "zeta = f.x + (f.a - Hz) @ z + 1j * (f.b @ z)",
        "test_ralf.py::test_foreshortening_takes_away_the_false_double_frequency",
        "test_assumed_modes.py::test_a_spinning_link_is_stiffened_by_foreshortening_only",
    ),
    _mutation(
        "by_dz = -2.0 * Hdz + 2j * w * slope", "by_dz = -Hdz + 2j * w * slope",
        "test_conformance.py::test_conformance"
        "[derivatives_against_differences-tree, two links that shorten and stretch]",
    ),
    _mutation(
        "motion.bend(i, f, points.acceleration - f.c0 * tree.gravity, K)",
        "motion.bend(i, f, points.acceleration, K)",
        "test_ralf.py::test_poles_with_torques", "test_ralf.py::test_equilibrium",
    ),
    _mutation(
        "softest / (2.0 * link.length) ** 2", "softest / link.length ** 2",
        "test_assumed_modes.py::test_the_weight_needs_it_from_a_hundredth_of_the_buckling_load_on",
    ),
    _mutation(
        "c0, c1, 2.0 * joint.hydraulic_damping * w", "c0, c1, joint.hydraulic_damping * w",
        "test_actuators.py::test_linear_plant_of_ralf", "test_ralf.py",
    ),
    _mutation(
        "self.moved.force(qm, vm, t) - self.moved.input_matrix(qm)[:, : self.k] @ z",
        "self.moved.force(qm, vm, t) + self.moved.input_matrix(qm)[:, : self.k] @ z",
        "test_actuators.py::test_derivatives_and_compiled_form", "test_actuators.py::test_linear_plant_of_ralf",
    ),
    _mutation(
        "part[rest] -= inertia @ part[led]", "part[rest] -= 0.0 * inertia @ part[led]",
        "test_ralf.py::test_poles_with_the_joints_led",
        "test_assumed_modes.py::test_motion_driven_loop_has_its_derivatives",
    ),
)

_ANCF = (
    _mutation(
        "(2, 2): gyration2 / 3, (2, 5)", "(2, 2): gyration2 / 2, (2, 5)",
        "test_ancf_element.py",
    ),
    _mutation(
        "plane = E / (1 - nu**2)", "plane = E / (1 + nu**2)",
        "test_ancf.py::test_tip_deflection_of_a_cantilever",
    ),
    _mutation(
        "forces = stress @ normal.shapes[:, flexible]", "forces = 2.0 * stress @ normal.shapes[:, flexible]",
        "test_ancf.py::test_modal_damping_has_the_ratio_in_every_mode_of_the_reference_pose",
    ),
)

_LINEAR = (
    _mutation(
        "D=D + 2.0 * M @ W, K=plant.K", "D=D + M @ W, K=plant.K",
        "test_spinning.py::test_spinning_plant_is_the_motion_near_the_steady_one",
    ),
    _mutation(
        "Cv=plant.Cv + 2.0 * plant.Ca @ W", "Cv=plant.Cv",
        "test_spinning.py::test_spinning_plant_is_the_motion_near_the_steady_one",
    ),
    _mutation(
        "terms = [model.force(q, zero), W @ point.lam, -B @ point.u]",
        "terms = [model.force(q, zero), W @ point.lam, B @ point.u]",
        "test_equilibrium.py::test_random_poses_and_loads[planar_2r_flexible]",
    ),
    _mutation(
        "if here.J.sign not in (0.0, J.sign):", "if here.J.sign is None:",
        "test_equilibrium.py::test_what_buckles_is_refused_at_the_load_of_euler",
    ),
    _mutation(
        "matrix = np.where(np.abs(matrix) <= noise, 0.0, matrix)",
        "matrix = np.where(np.abs(matrix) < 0.0, 0.0, matrix)",
        "test_rounding.py",
    ),
    _mutation(
        "plant.Cv - plant.Ca @ plant.D\n", "plant.Cv\n",
        "test_realise.py::test_every_form_has_the_response_of_the_second_order_equations",
    ),
    _mutation(
        "Du + plant.Cq[:, t] @ flexibility", "Du - plant.Cq[:, t] @ flexibility",
        "test_realise.py::test_static_correction_removes_the_error_at_low_frequency",
    ),
    _mutation(
        "Phi[:, columns] = I[:, columns] + dt * A[:, columns]",
        "Phi[:, columns] = I[:, columns] - dt * A[:, columns]",
        "test_discrete.py::test_a_rigid_mode_that_a_flexible_one_pushes_keeps_its_drift_exact",
    ),
    _mutation(
        "B = np.vstack([Gamma2 @ plant.B, np.eye(p)])", "B = np.vstack([Gamma1 @ plant.B, np.eye(p)])",
        "test_discrete.py::test_delay_equals_a_late_staircase_on_a_fine_grid",
    ),
    _mutation(
        "bound = 2.0 * float(hankel[A.shape[0] :].sum())", "bound = 1.0 * float(hankel[A.shape[0] :].sum())",
        "test_reduce.py::test_the_error_bound_holds_at_every_order",
        "test_reduce.py::test_hankel_values_are_those_of_the_gramians",
        "test_reduce.py::test_400_flexible_states_are_reduced_within_one_millionth",
    ),
    _mutation(
        "[push @ S, flexible.A]", "[-push @ S, flexible.A]",
        "test_actuators.py::test_first_order_form_is_the_second_order_plant",
    ),
)

_FREQUENCY = (
    _mutation(
        "np.mod(angle, 2.0 * math.pi) / gain_crossings", "np.mod(angle, math.pi) / gain_crossings",
        "test_margins.py::test_thirty_mode_beam_with_a_lead_against_brute_force",
        "test_margins.py::test_sampled_loop_against_brute_force",
    ),
    _mutation(
        "S = np.linalg.inv(np.eye(size) + H.transpose(2, 0, 1))",
        "S = np.linalg.inv(np.eye(size) - H.transpose(2, 0, 1))",
        "test_margins.py::test_one_of_two_loops_with_the_other_closed",
    ),
    _mutation(
        "np.asarray(np.linalg.inv(one + L) - 0.5 * one)", "np.asarray(np.linalg.inv(one + L) - one)",
        "test_margins.py::test_one_loop_alone_has_the_simultaneous_disk_margin_of_its_own",
    ),
    _mutation(
        "K = K * hold[:, None, None]", "K = K * np.abs(hold)[:, None, None]",
        "test_structured.py",
    ),
)

_LAWS = (
    _mutation(
        "np.full(k, disturbance * dt**2)", "np.full(k, disturbance * dt)",
        "test_laws.py::test_lqg_is_its_formulas_step_by_step",
    ),
    _mutation(
        "Q[m:n, m:n] = w.rate * c.T @ c + w.energy * np.eye(m)", "Q[m:n, m:n] = w.rate * c.T @ c",
        "test_laws.py::test_lqg_is_its_formulas_step_by_step",
        "test_laws.py::test_lqg_settles_as_fast_as_the_study_says",
    ),
    _mutation(
        "N1 = -model.sample_time * np.linalg.solve(rest, N0)", "N1 = model.sample_time * np.linalg.solve(rest, N0)",
        "test_regulators.py::test_a_told_law_passes_constant_commands_on_and_an_integrating_plant_is_refused",
    ),
    _mutation(
        "+ self.D22 @ ux", "- self.D22 @ ux",
        "test_hinf.py::test_the_closed_loop_has_its_feedthrough_in_it",
    ),
    _mutation(
        "np.array([[1.0 - a]])", "np.array([[1.0 + a]])",
        "test_filters_pid.py::test_filters_are_their_formulas",
    ),
    _mutation(
        "half = 0.5 / (frequency_hz * np.sqrt(1.0 - damping**2))", "half = 0.5 / frequency_hz",
        "test_shaping.py",
    ),
    _mutation(
        "value = step * (np.cumsum(rate) - 0.5 * rate) + begin", "value = step * np.cumsum(rate) + begin",
        "test_inversion.py::test_predicted_motions_are_what_the_plant_does",
    ),
    _mutation(
        "4.0 / delay * B0, -B0", "2.0 / delay * B0, -B0",
        "test_hinf.py::test_loop_shaping_reaches_its_gamma",
    ),
    _mutation(
        "self.A + self.Bu @ self.C, self.By + self.Bu @ self.Dy, self.C, self.Dy", "self.A, self.By, self.C, self.Dy",
        "test_laws.py::test_feedback_is_the_law_step_by_step",
    ),
)

_JUDGES = (
    _mutation(
        "_extended(plant, np.sqrt(half) * e, v)", "_extended(plant, half * e, v)",
        "test_certify_bound.py::test_a_piece_closed_by_its_block_is_the_loop_at_that_payload",
    ),
    _mutation(
        "(error * np.sign(move)).max()", "error.max()",
        "test_scores.py",
    ),
    _mutation(
        "gamma = 0.5 + af - am", "gamma = 0.5 - af + am",
        "test_conformance.py::test_conformance[closed_loop_is_second_order-crane]",
    ),
    _mutation(
        "top = self.inner.force(qm, vm, t) - self.inner.input_matrix(qm) @ self._command(q, v)",
        "top = self.inner.force(qm, vm, t) + self.inner.input_matrix(qm) @ self._command(q, v)",
        "test_analog.py::test_eigenvalues_of_the_analog_loop_are_those_of_the_closed_loop",
        "test_analog.py::test_derivatives_of_analog_loops",
    ),
    _mutation(
        "np.floor(m[i] / law.quantum[i] + 0.5)", "np.floor(m[i] / law.quantum[i])",
        "test_closed_loop.py::test_quantised_sensors_read_multiples",
    ),
    _mutation(
        "s = elbow * np.sqrt((1.0 - c) * (1.0 + c))", "s = np.sqrt((1.0 - c) * (1.0 + c))",
        "test_kinematics.py",
    ),
)

MUTATIONS = (*_BEAMS, *_ASSUMED, *_ANCF, *_LINEAR, *_FREQUENCY, *_LAWS, *_JUDGES)
