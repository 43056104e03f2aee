"""`make picture`: the picture of the README, from two scripts of the catalogue."""

from pathlib import Path

import numpy as np

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.01})
damped = {"damping": {"kind": "modal", "ratio": 0.01}}
figure, (bode, move) = fx.plot.subplots(1, 2, size=(9.0, 3.4))
response = arm.with_(overrides=damped).linearise().frequency_response()
for output, label in (("joint1_angle", "torque to joint angle"), ("chord1_angle", "torque to tip angle")):
    gain = 20 * np.log10(np.abs(response.channel(output, "joint1_torque")))
    bode.semilogx(response.omega / (2 * np.pi), gain, label=label)
bode.set(xlabel="frequency [Hz]", ylabel="magnitude [dB re rad/(N m)]", xlim=(1, 300), ylim=(-80, 60))
bode.legend(loc="upper right")
for name, label in (("tokhi_azad_pd", "PD of the joint"), ("tokhi_azad_tuned", "tuned LQG of joint and tip")):
    ((_, run),) = fx.run_scenarios(fx.load_controller(name), arm, only=["5 deg, 10 g"])
    move.plot(run.t, np.degrees(run["chord1_angle"]), label=label)
move.set(xlabel="time [s]", ylabel="angle of the tip [deg]", xlim=(0, 1.2))
move.legend(loc="lower right")
target = Path(__file__).parent / "static" / "two_laws.png"
figure.savefig(target, dpi=90, metadata={"Software": None})
print(target.name, target.stat().st_size)
