"""
Loads at two joints, and at two valves
======================================

A torque of 6 N m comes on at the shoulder of a flexible two-link arm while it holds still: the law with integrals
takes seconds, the one that estimates the loads one. On RALF, strain feedback beside the estimated offsets of valves.
The warning is about rates of joints without hubs: they ring where the torque jumps.
"""

import flexctl as fx

push = {"joint1_torque": fx.PiecewiseConstant((0.5,), (0.0, 6.0))}
runs = {}
for name in ("planar_2r_scheduled", "planar_2r_disturbance"):
    script = fx.load_controller(name)
    arm = fx.load_plant(script.PLANT, overrides={**script.SETTINGS, "payload.mass": script.RATED})
    still = {f"joint{i}": fx.quintic(0.0, 0.0, 0.1) for i in (1, 2)}
    law = script.design(arm)
    runs[name] = fx.simulate(arm, law, fx.references(arm, still, law, arm), duration=4.0, inputs=push, method="sdirk")
figure = fx.plot.compare(runs, ["joint1_angle", "joint2_angle", "joint1_torque"])

script = fx.load_controller("ralf_disturbance")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["both links", "servo alone"])
strains = fx.plot.compare({item.name: run for item, run in runs}, ["strain_lower", "strain_upper"])
