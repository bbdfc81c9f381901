"""The one sampler (cadence) and the one place that subtracts counters."""
