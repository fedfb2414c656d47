"""The library: three ports, two adapters each, one face."""
