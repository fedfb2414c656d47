"""Adapters of the clause graph and catalogue."""
