"""
An arm in space
===============

Three joints, flexible tubes, gravity: PIDs from bandwidth and phase margin, and a payload that they do not
know. The warning is about the strain across the bending plane, some microstrain.
"""

import flexctl as fx

script = fx.load_controller("spatial_3r_pid")
arm = fx.load_plant(script.PLANT, overrides={"model.elements": 2})
runs = fx.run_scenarios(script, arm, only=["60 deg, 0 kg", "60 deg, 2 kg"])
figure = fx.plot.compare({item.name: run for item, run in runs}, ["tip_error_x", "tip_error_y", "tip_error_z"])
