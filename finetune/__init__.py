"""Fine-tuning: labelled data and a base checkpoint become a small adapter with a run card."""
