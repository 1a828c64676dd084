"""Eight trainers from the definition to the kernel's method, each the last plus one idea.

Every rung is a function of weighted words (``{b"low": 5, ...}``) and an ``Order``. It yields one merge after the other,
with its count; ``learn`` takes the wanted number. ``n`` below is the number of symbols in all distinct
words, ``m`` of merges, ``p`` of distinct pairs. All rungs make the same merges. Read them in this order:

0. ``order``                    the order of equally frequent pairs, and the number of merges
1. ``naive_recount``            count every pair again for every merge: O(m n)
2. ``incremental_counts``       keep the counts, and update them in the words that change: O(m (n + p))
3. ``parallel_pretokenization`` convert documents to words on all cores, for any rung
4. ``inverted_index``           index the words of every pair: O(m p) and the words that change
5. ``lazy_heap``                take the best pair from a heap, with stale entries detected when popped
6. ``linked_positions``         index the places of every pair, so that one huge word costs no more than many short ones
7. ``multiset_heap``            a heap in which counts move, instead of one with stale entries
8. ``whole_text``               no heap at all: pairs in buckets by count, O(n) for a whole text without a pretokenizer

Beside the ladder stand the definitions of other models: ``word_piece``, by count and by likelihood, ``unigram``,
``superwords``, whose merges join words, and ``parity``, which chooses each merge for one language.
"""
