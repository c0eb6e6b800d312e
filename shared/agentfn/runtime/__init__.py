"""A Lambda runtime client that streams responses.

Lambda's own client for Python sends only complete responses. `stream-wrapper` beside this file starts this one instead.
Events that are not HTTP requests, and handlers that cannot stream, get a complete response as from Lambda's client.
"""
