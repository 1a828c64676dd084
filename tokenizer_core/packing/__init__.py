"""Rows of tokens put together into packs of a fixed length, for fine-tuning without padding.

``plan`` decides which row stands in which pack, ``packs`` builds the arrays that a trainer reads, ``files`` writes
them, ``pack`` does all of it with examples, which ``tokenizer_core.examples`` has encoded.
"""
