"""MATLAB and Octave: functions that rebuild named systems from their own text, and .mat files."""
