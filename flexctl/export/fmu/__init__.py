"""Functional mock-up units, FMI 2.0: description, C sources and binary in one archive that needs no Python."""
