"""
An experiment that tells something
==================================

A multisine with lines closer than half the width of the narrowest peak.
"""

import flexctl as fx
from flexctl import identify

made = identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=0.1, period=8.0)
figure = fx.plot.excitation(made)
