"""Fetches files from URLs that a caller or a model chose, guarded against server-side request forgery."""

from agentfn.fetch.fetch_response import FetchedFile
from agentfn.fetch.fetcher import Fetcher
from agentfn.fetch.source import fetch_source, read_source

__all__ = ["FetchedFile", "Fetcher", "fetch_source", "read_source"]
