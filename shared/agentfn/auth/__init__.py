"""Authentication of callers: one authenticator for each value of AGENTFN_AUTH."""
