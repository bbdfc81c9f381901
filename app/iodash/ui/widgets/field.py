"""A line to type in."""

from __future__ import annotations

from textual.events import Key
from textual.widgets import Input


class Field(Input):
    """A line to type in that misses nothing: what was typed while it was being opened comes to it too."""

    def take(self, key: Key) -> None:
        """Types a key that was on its way to somebody else."""
        self.post_message(Key(key.key, key.character))
