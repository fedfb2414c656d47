"""Adapters of the keyword index."""
