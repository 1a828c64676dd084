"""Eight trainers from the definition to the kernel's method, each the last plus one idea.

Every rung is a function of weighted words (``{b"low": 5, ...}``) and an ``Order`` that yields one merge after the
other, with its count; ``learn`` takes as many as are wanted. ``n`` below is the number of symbols in all distinct
words, ``m`` of merges, ``p`` of distinct pairs. All rungs make the same merges. Read them in this order:

0. ``order``                    which of several equally frequent pairs is first, and how many merges are taken
1. ``naive_recount``            count every pair again for every merge: O(m n)
2. ``incremental_counts``       keep the counts, and mend them in the words that change: O(m (n + p))
3. ``parallel_pretokenization`` documents to words over all cores, for any rung
4. ``inverted_index``           know the words of every pair: O(m p) and the words that change
5. ``lazy_heap``                know the best pair, from a heap whose stale entries are found out when popped
6. ``linked_positions``         know the places of every pair, so that one huge word costs no more than many short ones
7. ``multiset_heap``            a heap in which counts move, instead of one with stale entries
8. ``whole_text``               no heap at all: pairs in buckets by count, O(n) for a whole text without a pretokenizer
"""
