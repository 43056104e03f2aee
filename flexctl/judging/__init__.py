"""What a controller is worth: scenarios, certificates, comparisons, sweeps."""
