"""The agent card: its contents, its signature, its endpoint."""
