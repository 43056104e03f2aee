"""Judging a controller: scenarios, certificates, comparisons, sweeps."""
