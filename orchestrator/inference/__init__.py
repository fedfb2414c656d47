"""Typed calls to the served models, and the server that serves them."""
