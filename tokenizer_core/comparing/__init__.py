"""Compare tokenizers: what texts cost with each, and what their vocabularies share.

``measures`` are those of one tokenizer, ``comparison`` brings several together.
"""

from tokenizer_core.comparing.comparison import MAX_COMPARED, Comparison, TextCost, TextSize, TokenizerSummary, compare

__all__ = ["MAX_COMPARED", "Comparison", "TextCost", "TextSize", "TokenizerSummary", "compare"]
