"""Readers and writers of tokenizer files; unsupported features are refused by name."""
