"""Rows of tokens put together into packs of a fixed length, for fine-tuning without padding.

``plan`` decides which row stands in which pack, ``packs`` builds the arrays that a trainer reads, ``examples`` turns
chats, prompts with completions, and texts into rows, ``files`` reads and writes them.
"""
