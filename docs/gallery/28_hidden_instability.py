"""
Which angle may be fed back
===========================

Encoders are collocated: stable at any gain. The angle of the chord, which the tip moves too, is unstable on an
arm with little damping, in some pose of the path.
"""

import flexctl as fx

arm = fx.load_plant("tian_ancf_circle")
circle = fx.Circle((1.6, 0.0), 0.3)
track = fx.Track(arm, fx.Path(circle, fx.ConstantSpeed(circle.length, 25.0, ease_in=2.0)))
laws = {
    angles: fx.tip_tracking(track, fx.pd_gains((35.0, 20.5), 8.0), angles=angles, sample_time=0.0)
    for angles in ("joint", "chord")
}
found = {name: fx.path_stability(arm, law, track, count=5) for name, law in laws.items()}
figure = fx.plot.poles_along(found, below=60.0)

damping = (0.0, 1e-5, 1e-4, 1e-3)
growth = fx.plot.stability(fx.stability_over_damping(arm, laws, track, damping, count=3), damping)
