"""Adapters of the vector index."""
