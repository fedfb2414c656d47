"""The router agent: what is being asked."""
