"""What the analyst knows about tables, queries, charts and reports; nothing here knows agentfn."""
