"""Which model lives on which slice of which GPU, what memory that takes, and the files that start it all."""
