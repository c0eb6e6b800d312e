"""An agent on a laptop: its handler behind an HTTP server, on an embedded AWS. Never part of a deployment."""
