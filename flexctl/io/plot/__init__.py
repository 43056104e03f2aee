"""Pictures of plants and runs: Bode plots, poles and how they move, mode shapes, time histories, comparisons.

Every function takes data objects and returns a figure; it draws into given `axes` if there are any and writes a file if
there is a `path` (.png at 150 dpi, .pdf or .svg; all or nothing). matplotlib is imported on first use, pyplot never.

    plot.bode({"19 sections": plant.frequency_response(), "exact beam": fx.frequency_response(beam)}, path="bode.png")
"""

from ...support.kinds import guarded as _guarded
from .certificate import certificate
from .estimates import estimates
from .identified import excitation, frequency_fit, record, stabilisation, time_fit
from .linear import bode, mode_shapes, poles
from .loci import migration
from .own import style, subplots
from .runs import compare, run, step_lines, surface
from .tracking import poles_along, stability, tip_errors, tip_path, tracking

__all__ = [
    "bode", "certificate", "compare", "estimates", "excitation", "frequency_fit", "migration", "mode_shapes", "poles",
    "poles_along", "record", "run", "stabilisation", "stability", "step_lines", "style", "subplots", "surface",
    "time_fit", "tip_errors", "tip_path", "tracking",
]

globals().update({name: _guarded(globals()[name], f"plot.{name}", __name__) for name in __all__})
