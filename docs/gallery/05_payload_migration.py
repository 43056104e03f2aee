"""
Where a payload takes the poles
===============================

A gripper closes on something heavier and heavier: every pole becomes slower, the first one most.
"""

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
grams = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)
plants = {g: arm.with_({"payload.mass": g / 1000}).linearise() for g in grams}
figure = fx.plot.migration(plants, "payload [g]", below=80.0)
