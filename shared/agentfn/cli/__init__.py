"""The `agentfn` command. It is never deployed."""
