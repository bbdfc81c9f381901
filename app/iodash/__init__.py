"""iodash: what holds your GPUs back, on one screen."""

__version__ = "0.1.0"
