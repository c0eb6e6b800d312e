"""A runtime client of agentfn's own, in the place of Lambda's: it sends an answer while it is made.

Lambda's client for Python gives an answer when it is whole. `stream-wrapper` beside this file starts this one instead.
What is no request, or a handler that cannot stream, is answered as Lambda's own client does.
"""
