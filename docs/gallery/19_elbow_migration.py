"""
What the elbow does to the poles
================================

Joints held, the elbow from stretched to folded: the two lowest modes change places in frequency.
"""

import numpy as np

import flexctl as fx

arm = fx.load_plant("planar_2r_flexible", overrides={"model.elements": 6, "damping": {"kind": "modal", "ratio": 0.02}})
held = {}
for degrees in np.linspace(0.0, 150.0, 7):
    bent = arm.with_(joint={2: {"angle": np.radians(degrees)}})
    held[degrees] = fx.lock(bent.linearise(), ["joint1", "joint2"])
figure = fx.plot.migration(held, "elbow [deg]", below=80.0)
