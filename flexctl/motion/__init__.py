"""Motions for an arm to follow: moves, signals, curves, paths, and the rigid arm that follows them."""
