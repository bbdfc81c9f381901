"""A frame as text, JSON, CSV and snapshot files, and which of its rows are shown."""
