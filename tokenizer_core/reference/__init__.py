"""The executable specification: every algorithm of the kernel in plain Python, slow and obviously right.

It is the oracle of the tests and a rung of the benchmark ladder; nothing that serves imports it. It needs ``regex``
and ``unicodedata2`` (of the kernel's Unicode version), which the ``test`` extra brings. Read it in this order:

1. ``byte_alphabet``      the 256 printable characters that stand for bytes in GPT-2's files
2. ``unicode_classes``    what ``\\p{L}`` and ``\\s`` mean in one pinned version of Unicode
3. ``older_tables``       what Hugging Face's library means where its tables are of other versions
4. ``patterns``           the pretokenizer patterns that have names
5. ``pretokenize``        a pattern, or several, cut a text into pieces
6. ``merge_scan``         bytes of a piece into tokens: look at every pair, merge the best, begin again
7. ``merge_heap``         the same from a priority queue over a linked list
8. ``rank_file``          the same when there is no list of merges, only ranked byte strings
9. ``char_bpe``           characters into tokens by merges, with byte fallback and affixes of words
10. ``score_bpe``         SentencePiece's merges by scores, and its unused pieces
11. ``unigram``           the entries with the highest sum of scores
12. ``word_piece``        words into the longest entries
13. ``added_tokens``      literals that are matched before everything else
14. ``normalize``         rewrites of the text, and where a rewritten character came from
15. ``bert``              the rewrites of BERT
16. ``utf8``              bytes to text, with U+FFFD for what is not UTF-8
17. ``decoders``          texts of tokens to text
18. ``stream``            the same bit by bit
19. ``offsets``           which part of the text each token is
20. ``tokenizer``         all of it together
"""
