"""Models around models: joints that follow a motion, joints moved by hydraulic cylinders."""
