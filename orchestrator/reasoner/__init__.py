"""The reasoner agent: what the clauses jointly say."""
