"""Runs in which the tip of an arm follows a track, as scenarios of a controller script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..machine.given import as_plant
from ..motion.track import Track
from ..support.kinds import AnyLaw
from .scenario import Scenario

if TYPE_CHECKING:
    from ..catalogue import Plant


def tracking_scenario(
    name: str, plant: Plant, track: Track, law: AnyLaw, feedforward: bool = True, *, own: bool = False,
    arm: dict[str, Any] | None = None, **options: Any,
) -> Scenario:
    """Return the run of a law along a whole track, from rest with straight links where it begins.

    Parameters
    ----------
    name : str
        Label of the run.
    plant : Plant
        The nominal plant.
    track : Track
        What the tip follows. Its torques are those of its own arm, whatever the arm of the run is.
    law : Controller
        The law; its channels tell which references are needed.
    feedforward : bool
        Whether the torques of the rigid arm are fed forward.
    own : bool
        Whether the law is the script's design: then another controller can be run in its place.
    arm : mapping, optional
        How the arm of this run differs from the nominal one.
    **options
        Further arguments of `flexctl.simulate`: step, method, scheme.

    Examples
    --------
    >>> arm = fx.load_plant("tian_2r_beam")
    >>> circle = fx.Circle((1.6, 0.0), 0.3)
    >>> track = fx.Track(arm, fx.Path(circle, fx.ConstantSpeed(circle.length, 25.0)))
    >>> law = fx.tip_tracking(track, fx.pd_gains((35.0, 20.5), 8.0), filter_time=20e-3)
    >>> fx.tracking_scenario("PD", arm, track, law, feedforward=False).duration
    25.0
    """
    plant = as_plant(plant)
    references = track.references(plant, law, feedforward)
    options = {"initial": track.start, **options}
    return Scenario(name, references, track.path.duration, arm or {}, options=options, law=None if own else law)
