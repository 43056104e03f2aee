"""Names that moved to `flexctl.kernels`."""

from ...kernels.jit import Entry as Late
from ...kernels.jit import entry as late
from ...kernels.model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from ...kernels.tables import INT, LAW, MAT, RECORD, TABLES, VEC

__all__ = ["CLOSURE", "INT", "LAW", "MAT", "OUTPUT", "RECORD", "RESIDUAL", "TABLES", "TANGENT", "VEC", "Late", "late"]
