"""tool_calls."""
