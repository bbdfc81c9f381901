"""What is known: counters at one instant (Sample), what happened between two (Frame), and why a number is missing."""
