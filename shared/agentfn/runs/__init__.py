"""Runs: what an invocation does for a task, from the queue's message to the saved result."""
