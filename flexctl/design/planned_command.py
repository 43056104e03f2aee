"""A command of nonlinear loops, as a plan found it: motions of a law's channels, kept in a file with their law."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..abilities import RigidTip, within
from ..errors import DefinitionError, require
from ..laws.fingerprint import Fingerprint, check_made_for
from ..laws.rigid_reference import RigidReference, references
from ..machine.given import as_model
from ..model import names
from ..motion.moves import Motion
from ..motion.planned import Planned
from ..support.files import write_atomically

FED = "_feedforward"
_LOOKS = 9
"""Times at which torques that are fed forward are compared with those of the plan."""
_ALIKE = 1e-6


@dataclass(frozen=True, eq=False)
class PlannedCommand:
    """Motions for one law, through nonlinear loops.

    Attributes
    ----------
    references : dict
        Motion of every channel of the law, and of the rigid tip where that is known: what `simulate` takes.
    motions : dict
        Those that were planned, by channel.
    arrival : float
        Time from which on every plant was in the band whose time was minimised, and at rest, in its run [s].
    bands : mapping
        Band as a fraction of the move -> time from which on it was kept [s].
    plants : tuple of str
        Those it was made for.
    sample_time : float
        Of the law [s].
    made_for : Fingerprint or None
        Which law it is for; None of a law that is known by its step alone.
    target : mapping
        How far every followed output moves.
    peaks : mapping
        Plant -> limited input or output -> largest size in its run.
    arrivals : mapping
        Plant -> its own arrival [s].
    examined : float
        Length of the runs [s].

    Examples
    --------
    >>> script = fx.load_controller("planar_2r_fastest")
    >>> plan = script.command(fx.load_plant(script.PLANT))
    >>> len(plan.plants), sorted(plan.motions)
    (3, ['joint1_angle', 'joint2_angle'])
    """

    references: dict[str, Motion]
    motions: dict[str, Planned]
    arrival: float
    bands: Mapping[float, float]
    plants: tuple[str, ...]
    sample_time: float
    made_for: Fingerprint | None
    target: Mapping[str, float]
    peaks: Mapping[str, Mapping[str, float]]
    arrivals: Mapping[str, float]
    examined: float

    def save(self, path: str | Path) -> Path:
        """Write the command with its law, rate and plants as JSON; `load_command` reads it."""
        content = {
            "law": None if self.made_for is None else self.made_for.to_dict(), "sample_time_s": self.sample_time,
            "plants": list(self.plants), "target": dict(self.target), "arrival_s": self.arrival,
            "bands": {str(b): t for b, t in self.bands.items()},
            "peaks": {plant: dict(per) for plant, per in self.peaks.items()}, "arrivals_s": dict(self.arrivals),
            "examined_s": self.examined, "fed_forward": _fed(self.references, self.examined),
            "motions": {
                name: {"begin": m.begin, "end": m.end, "times": m.times, "accelerations": m.accelerations}
                for name, m in self.motions.items()
            },
        }
        text = json.dumps(content, indent=1)
        return write_atomically(path, lambda stream: stream.write(text.encode()))

    def __repr__(self) -> str:
        told = ", ".join(f"{100 * band:g} % at {t:.3f} s" for band, t in self.bands.items())
        return f"PlannedCommand({told}; {len(self.plants)} plants, runs of {self.examined:g} s)"


def read(content: Mapping[str, Any], path: str | Path, law: Any, known: Any) -> PlannedCommand:
    """Return the command of a file's content, for its law; with any other law or known arm it is refused."""
    try:
        word = None if content["law"] is None else Fingerprint.from_dict(content["law"])
        arrival = float(content["arrival_s"])
        motions = {
            str(name): Planned(
                tuple(m["times"]), tuple(m["accelerations"]), float(m["begin"]), float(m["end"]), arrival, word
            ) for name, m in dict(content["motions"]).items()
        }
        bands = {float(band): float(t) for band, t in dict(content["bands"]).items()}
        rest = [content[key] for key in ("plants", "sample_time_s", "target", "peaks", "arrivals_s", "examined_s")]
        fed = {str(name): [float(x) for x in row] for name, row in dict(content["fed_forward"]).items()}
    except (ValueError, KeyError, TypeError) as error:
        raise DefinitionError(f"{path} is damaged or not an optimal command: {error!r}") from error
    if word is not None:
        check_made_for(law, {str(path): word})
    plants, dt, target, peaks, arrivals, examined = rest
    found = references_of(law, motions, known, known)
    for name, row in _fed(found, examined).items():
        off = float(np.abs(np.array(row) - fed.get(name, np.inf)).max())
        alike = off <= _ALIKE * max(1.0, float(np.abs(row).max()))
        require(alike, f"{path} was planned with another {name} (by {off:.3g}): known is not the arm of the plan")
    return PlannedCommand(
        found, motions, arrival, bands, tuple(plants), float(dt), word, target, peaks, arrivals, float(examined)
    )


def references_of(law: Any, motions: Mapping[str, Motion], arm: Any, known: Any) -> dict[str, Motion]:
    """Return what a run along motions of channels refers to: with the torques of the known arm where the law asks."""
    found: dict[str, Motion] = dict(motions)
    fed = [name for name in law.follows if name.endswith(FED) and name not in motions]
    lacking = [name for name in law.follows if name not in motions and name not in fed]
    told = f"the law follows {lacking}, which is no output of every plant: no motion can be planned for it"
    require(not lacking, told)
    if fed:
        told = f"the law is fed {', '.join(fed)} forward: say by known= which arm's torques these are"
        require(known is not None, told)
    source = arm if known is None else known
    if source is None:
        return found
    joints = _joints(as_model(source), motions)
    if joints is None:
        require(not fed, f"the law is fed {fed} forward, but does not follow the angle of every joint")
        return found
    more = references(source if arm is None else arm, joints, law, source)
    return {**{name: motion for name, motion in more.items() if name in fed or isinstance(motion, RigidReference)},
            **found}


def _joints(model: Any, motions: Mapping[str, Motion]) -> dict[str, Motion] | None:
    """Return the motions by joint, None unless every joint of a rigid arm has one."""
    inner = within(model)
    if not isinstance(inner, RigidTip):
        return None
    found = {}
    for i in range(len(inner.arm.joints)):
        joint = f"joint{i + 1}"
        named = [name for name in (f"{joint}_angle", f"{joint}_extension") if name in motions]
        if not named or named[0] not in names(model.outputs):
            return None
        found[joint] = motions[named[0]]
    return found


def _fed(found: Mapping[str, Motion], examined: float) -> dict[str, list[float]]:
    """Return the torques that are fed forward at some times."""
    t = np.linspace(0.0, 0.5 * examined, _LOOKS)
    return {name: np.asarray(m(t)[0]).tolist() for name, m in found.items() if name.endswith(FED)}
