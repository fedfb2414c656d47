"""The retriever agent: which clauses bear on the question, and how far they can be trusted."""
