"""Readers of table files: CSV, JSON and .xlsx to typed tables."""
