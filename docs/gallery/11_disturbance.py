"""
A load that the observer finds
==============================

Loads are among the states that the observer estimates. The picture shows what it believed, beside what the run
recorded.
"""

import flexctl as fx

script = fx.load_controller("tokhi_azad_disturbance")
arm = fx.load_plant(script.PLANT, overrides=script.SETTINGS)
watcher = fx.observer(
    arm.linearise(), modes=3, measures=("joint1_angle", "chord1_angle"), drive="joint1_torque",
    estimates=("chord1_rate",), sample_time=1e-3, noise=1e-9, load=1e-6,
)
((_, run),) = fx.run_scenarios(script, arm, only=["5 deg, 20 g"])
figure = fx.plot.estimates(watcher.over(run))
