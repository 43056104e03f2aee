"""
Strain in a hydraulic arm
=========================

One cycle of 2 degrees in both cylinders of RALF: the servo alone leaves the links ringing; strain feedback and
shaped commands do not.
"""

import flexctl as fx

arm = fx.load_plant("ralf")
runs = {}
for name in ("ralf_servo", "ralf_lqg", "ralf_hinf", "ralf_shaped"):
    ((_, run),) = fx.run_scenarios(fx.load_controller(name), arm, only=["both links"])
    runs[name] = run
figure = fx.plot.compare(runs, ["strain_lower", "strain_upper"])
