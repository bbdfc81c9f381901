"""Values as text of a known width. Nothing here knows what a process or a device is."""
