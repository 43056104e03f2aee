"""
As fast as the strains allow
============================

Commands that were found by running the nonlinear arm again and again: both joints of a flexible two-link arm with
half a kilogram, and RALF's cylinders, each beside the quintics of the same law. What is warned
of are rates of joints without hubs, which ring where the torque jumps.
"""

import flexctl as fx

script = fx.load_controller("planar_2r_fastest")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["planned, 500 g", "quintics, 500 g"])
figure = fx.plot.compare({item.name: run for item, run in runs}, ["joint2_angle", "joint2_torque"])

script = fx.load_controller("ralf_fastest")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["planned", "shaped", "quintic"])
strains = fx.plot.compare({item.name: run for item, run in runs}, ["joint1_angle", "strain_lower"])
