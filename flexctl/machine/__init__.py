"""What an arm is: data classes with units and bounds, and whether the numbers fit each other."""
