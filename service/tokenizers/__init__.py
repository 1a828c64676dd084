"""The tokenizers that a server holds: those it starts with, those that jobs trained, and what was encoded with them."""
