"""The data of an arm: classes with units and bounds, and checks that the numbers fit each other."""
