"""This machine, or another one's proc and sys trees, as a source of samples."""

from iodash.sources.local.source import LocalSource

__all__ = ["LocalSource"]
