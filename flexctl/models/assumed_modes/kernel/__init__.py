"""Compiled code of this formulation: residual, tangent and solve for the common step."""
