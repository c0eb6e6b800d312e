"""The analyst: reads tables, queries them with SQL, draws charts and writes reports. `tools` and `demo` use agentfn."""
