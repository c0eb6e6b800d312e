"""Documents read, split into items, searched and summed up."""
