"""One parser a format; all yield the blocks of `layout`."""
