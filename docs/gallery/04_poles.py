"""
Poles of an arm held in a servo
===============================

Joint springs and dampers move the slow poles and hardly touch the fast ones. Undamped modes lie on the
imaginary axis.
"""

import flexctl as fx

free = fx.load_plant("planar_2r_flexible").linearise()
servos = fx.design_servos(fx.load_plant("planar_2r_flexible").model)
figure = fx.plot.poles({"joints free": free, "joints in servos": fx.with_servo(free, servos)}, below=60.0)
