"""Domain packs and quantities."""
