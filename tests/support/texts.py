"""Texts that find bugs: strategies for property tests, and the hostile ones of fixed shape."""

from __future__ import annotations

from hypothesis import strategies as st

ALPHABET = (
    *"aAbzZ sStTlLvVrRmMdDeE019_-=./\\'\"!?<|>",
    *"\t\n\r\x0b\x0c\x1c\x1f\x00\x7f\x85\xa0",  # 0x1C to 0x1F are white space to str.isspace, not to Unicode
    *"\u1680\u180e\u2003\u2028\u2029\u200b\u202f\u205f\u3000\ufeff",
    *"ſKİıßẞǅʰªʕσςΣ",  # folds to s and k; title case, modifier, no case
    *"éñàЖщ",
    *"日本語한국어\u1112\u1161\u11ab",
    *"²½Ⅷ①٣३൬𝟘",  # numbers of every kind
    *"\u0301\u0323\u0897\u093f\u20e3\ufe0f",  # marks; 0x0897 is new in Unicode 16
    *"\u088f\u0378\ue000\ufdd0\uffff\U0001faea\U0010ffff",  # unassigned in 16, private, no characters
    *"👍👨🏽🇩😀\u200d\u200c",
    "'s",
    "'LL",
    "'ſ",
    "don't",
    "\r\n",
    "\n \n",
    "   ",
    "token",
    " the",
    "<|endoftext|>",
    "<|end|>",
    "👨\u200d👩\u200d👧",
)
"""What pretokenizers, normalizers and matchers of literals decide on."""

unicode_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
hostile_text = st.lists(st.sampled_from(ALPHABET), max_size=40).map("".join)
runs = st.lists(st.tuples(st.sampled_from(ALPHABET), st.integers(1, 60)), max_size=5).map(
    lambda found: "".join(unit * times for unit, times in found)
)
texts = st.one_of(hostile_text, unicode_text, runs)
"""Any text, and often a nasty one."""
