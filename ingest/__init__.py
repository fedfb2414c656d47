"""Source files to clauses to the three indexes."""
