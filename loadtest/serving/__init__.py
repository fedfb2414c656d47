"""How much the served embedder carries, beside other ways to run the same model on the same cores."""
