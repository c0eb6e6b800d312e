"""The JSON Schema of a tool's parameters: made from a signature, checked, compacted."""
