"""The two ways in which a model calls tools: its provider's own, and JSON in plain text."""
