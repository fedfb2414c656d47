"""Labelled training questions: made from a domain pack's templates, or corrected by people."""
