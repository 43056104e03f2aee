"""
Tuned weights, optimised commands
=================================

Weights tuned over nine models, and commands optimised through that loop: the shorter move with the same limit.
"""

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994")
runs = {}
for name in ("tokhi_azad_tuned", "tokhi_azad_order4", "tokhi_azad_fastest", "tokhi_azad_fastest_payloads"):
    ((_, run),) = fx.run_scenarios(fx.load_controller(name), arm, only=["60 deg, 10 g"])
    runs[name] = run
figure = fx.plot.compare(runs, ["chord1_angle", "joint1_torque"])
