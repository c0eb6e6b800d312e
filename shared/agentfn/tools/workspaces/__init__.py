"""Workspaces: the files of one task, by name."""
