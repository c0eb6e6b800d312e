"""An agent whose behaviour is agreed on with the public conformance suites, and a server for it."""
