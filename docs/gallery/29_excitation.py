"""
An experiment that tells something
==================================

A multisine with lines closer than half the width of the narrowest peak.
"""

import flexctl as fx
from flexctl import identify

made = identify.multisine(fx.load_plant("tokhi_azad_1994"), band=(0.5, 60.0), limit=0.1)
figure = fx.plot.excitation(made)
