"""
Three flexible links and joints
===============================

Half a cosine wave in every joint, as it is and through a ZVD shaper.
"""

import flexctl as fx

script = fx.load_controller("three_link_shaped")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["unshaped", "ZVD"])
figure = fx.plot.compare({item.name: run for item, run in runs}, ["tip_error_x", "tip_error_y"])
