"""The judges: exact solutions of continuous beams, without a mesh."""
