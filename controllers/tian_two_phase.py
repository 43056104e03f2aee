"""The paper's controller on the paper's arm: PD with one set of gains for each half of the run, on circle and square.

Tian et al. close the loop over the angles of the chords, joint to joint and joint to tip, and use other gains in the
second half of the run. Their gains and paths are not published; here each set is critically damped, Kp = I w^2 and
Kd = 2 I w, at 4 and then 12 rad/s. The law is continuous and the arm undamped, as theirs.

Two things come out. The second set makes the error 2.2 times smaller, but no set follows the corners of the square,
where the velocity jumps: 7.9 mm. And the angle matters more than the gains: torque and root section are collocated, and
with encoders there the loop is passive and stable at any gain; over the chords it grows at +7.4e3 1/s in the first half
of the circle and at +2.0e4 1/s in the second, in modes at 18 kHz. Damping of 3 ms (4.8 % in the first mode with the
joints held) makes the chords stable on the circle, 1 ms does not: +15 1/s at 36.5 Hz from 12.5 s on. The last run shows
how one can be deceived: chords on the undamped arm, integrated with the most dissipation, stay bounded for 20 s.

Limits: peak torques after a jump of the reference are those of the integrator; the loop itself asks for Kd times the
jump of the rate, in the corners up to 121 and 80 N m.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "tian_ancf_circle"
CURVES = {"circle": fx.Circle((1.6, 0.0), 0.3), "square": fx.square((1.6, 0.0), 0.4)}  # m; chosen
TIMES = {"circle": 25.0, "square": 20.0}  # s; circle as in the paper, square chosen
INERTIA = {"circle": (35.0, 20.5), "square": (18.0, 12.0)}  # kg m^2 about the joints; chosen, near the largest
FREQUENCIES = (4.0, 12.0)  # rad/s, of the two halves; chosen
DAMPING = {"damping.kind": "rayleigh", "damping.beta": 3e-3}  # s; chosen, the paper has none
REQUIREMENTS = {"disk_margin": 1.2, "tip.settled_rms_error": 0.75e-3, "tip.max_error": 13e-3}  # m


def arm(shape: str) -> dict[str, object]:
    """Return what makes an arm that of the circle or of the square: the paper's second one is lighter and stiffer."""
    return {f"link.{i}.material": shape for i in (1, 2)}


def track(plant: fx.Plant, shape: str) -> fx.Track:
    """Return the path at constant speed, begun with a jump of the velocity as in the paper."""
    curve = CURVES[shape]
    return fx.Track(plant.with_(arm(shape)), fx.Path(curve, fx.ConstantSpeed(curve.length, TIMES[shape])))


def law(where: fx.Track, shape: str, *frequencies: float, angles: str = "joint") -> fx.Controller:
    """Return the continuous law with the sets of gains at these frequencies [rad/s] one after the other."""
    sets = fx.gains_by_period(INERTIA[shape], frequencies or FREQUENCIES, TIMES[shape])
    return fx.tip_tracking(where, sets, angles=angles, sample_time=0.0)


def design(plant: fx.Plant) -> fx.Design:
    """Return the law of the circle, over encoders."""
    where = track(plant, "circle")
    known = {"inertia": INERTIA["circle"], "frequencies": FREQUENCIES, "damping": "none needed: passive"}
    return fx.Design(law(where, "circle"), where.linear_plant(plant.with_(arm("circle"))), known)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return circle and square over encoders, and over chords: on a damped arm, and where only the integrator damps."""
    ring, box = track(plant, "circle"), track(plant, "square")
    damped, undamped = {**arm("circle"), **DAMPING}, {"scheme": fx.generalised_alpha(0.0), "step": 1e-3}
    fine, exact = {"scheme": fx.generalised_alpha(0.9), "step": 1e-3}, {"scheme": fx.trapezoidal(), "step": 2e-3}

    def run(name: str, shape: str, *frequencies: float, **more: object) -> fx.Scenario:
        where, angles = {"circle": ring, "square": box}[shape], str(more.pop("angles", "joint"))
        used = law(where, shape, *frequencies, angles=angles)
        return fx.tracking_scenario(name, plant, where, used, False, **{"arm": arm(shape), **exact, **more})

    return [
        run("circle, encoders", "circle", own=True),
        run("circle, encoders, first gains only", "circle", 4.0),
        run("circle, chords, damped arm", "circle", angles="chord", **{**fine, "arm": damped}),
        run("square, encoders", "square", step=0.5e-3),
        run("square, chords, 2 rad/s, undamped arm", "square", 2.0, angles="chord", **undamped),
    ]


if __name__ == "__main__":
    fx.main(__name__)
