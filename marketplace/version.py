"""The version of the service: a leaf, so that who names it imports nothing else."""

__version__ = "0.5.0"
