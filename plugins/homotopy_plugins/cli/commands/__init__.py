"""The commands, each in a file of its own name."""
