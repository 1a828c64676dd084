"""Readers and writers of the files that describe a tokenizer; what is not supported is refused by name."""
