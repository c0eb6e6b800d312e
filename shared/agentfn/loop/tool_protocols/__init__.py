"""tool_protocols."""
