"""The executable specification: every algorithm of the kernel in plain Python, slow and obviously right.

It is the oracle of the tests and a rung of the benchmark ladder; nothing that serves imports it. It needs ``regex``
and ``unicodedata2`` (of the kernel's Unicode version), which the ``test`` extra brings. Read it in this order:

1. ``byte_alphabet``      the 256 printable characters that stand for bytes in GPT-2's files
2. ``unicode_classes``    what ``\\p{L}`` and ``\\s`` mean in one pinned version of Unicode
3. ``older_tables``       what Hugging Face's library means where its tables are of other versions
4. ``patterns``           the pretokenizer patterns that have names
5. ``pretokenize``        a pattern, or several, cut a text into pieces
6. ``byte_bpe``           bytes of a piece into tokens: look at every pair, merge the best, begin again; or by a queue
7. ``rank_file``          the same when there is no list of merges, only ranked byte strings
8. ``char_bpe``           characters into tokens by merges, with byte fallback and affixes of words
9. ``score_bpe``          SentencePiece's merges by scores, and its unused pieces
10. ``unigram``           the entries with the highest sum of scores
11. ``word_piece``        words into the longest entries
12. ``added_tokens``      literals that are matched before everything else
13. ``normalize``         rewrites of the text, and where a rewritten character came from
14. ``bert``              the rewrites of BERT
15. ``utf8``              bytes to text, whole or bit by bit, with U+FFFD for what is not UTF-8
16. ``decoders``          texts of tokens to text
17. ``offsets``           which part of the text each token is
18. ``tokenizer``         all of it together
"""
