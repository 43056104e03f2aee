"""
Joint or tip: where the zeros are
=================================

The hub angle (collocated) has an antiresonance between every two resonances, and its phase stays within 180
degrees. The tip has zeros on the right half-plane instead: it first moves the wrong way, and every mode costs
another half turn of phase.
"""

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
channels = [("joint1_angle", "joint1_torque"), ("chord1_angle", "joint1_torque")]
figure = fx.plot.bode(arm.linearise(), channels=channels)
