"""
How the arm swings
==================

The lowest modes of the 0.96 m strip of Tokhi and Azad, free to turn: each is a rigid turn and a bend that
balance each other.
"""

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994")
figure = fx.plot.mode_shapes(arm.linearise(), count=4)
