"""What an arm is asked to do: moves, signals, curves, paths, and the rigid arm that follows them."""
