"""The tokenizers of a server: those of its settings and those that jobs trained."""
