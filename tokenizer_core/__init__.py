"""Tokenization: text to token ids and back, exactly as a model's own tokenizer does."""
