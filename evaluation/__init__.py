"""Figures that anyone can repeat: retrieval on labelled corpora."""
