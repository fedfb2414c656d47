"""The commands of `trias`, one module each."""
