"""How the tool calls of a model turn are run."""
