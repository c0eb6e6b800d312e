"""event_sources."""
