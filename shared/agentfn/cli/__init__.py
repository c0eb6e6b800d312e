"""The `agentfn` command. Never part of a deployment."""
