"""The older tables of Hugging Face's ``tokenizers``, as they differ from the pinned version of Unicode.

Its categories are those of Unicode 8.0, its forms of normalization those of 9.0: what came later has no category and no
decomposition there, and a few characters have changed since. Its lower case is newer than ours.
"""

from __future__ import annotations

from functools import cache

from tokenizer_core.reference.unicode_classes import members

_NO_CONTROLS = "9-a d 890-891 8e2 110cd 13430-1343f"
_NO_PUNCTUATION = """
    61d 9fd a76 c77 c84 1b4e-1b4f 1b7d-1b7f 2e43-2e4f 2e52-2e5d 10d6e 10ead 10f55-10f59 10f86-10f89 113d4-113d5
    113d7-113d8 1144b-1144f 1145a-1145b 1145d 11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c
    11a9e-11aa2 11b00-11b09 11be1 11c41-11c45 11c70-11c71 11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 16d6d-16d6f
    16e97-16e9a 16fe2 1e5ff 1e95e-1e95f
"""
_NOT_NONSPACING = """
    7fd 897-89f 8ca-8e1 9fe afa-aff b55 c04 c3c d00 d3b-d3c d81 eba ece 180f 1885-1886 1abf-1ace 1df6-1dfb a82c a8c5
    a8ff a9bd 10d24-10d27 10d69-10d6d 10eab-10eac 10efc-10eff 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9
    111cf 1123e 11241 1133b 113bb-113c0 113ce 113d0 113d2 113e1-113e2 11438-1143f 11442-11444 11446 1145e
    1182f-11837 11839-1183a 1193b-1193c 1193e 11943 119d4-119d7 119da-119db 119e0 11a01-11a0a 11a33-11a38
    11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a99 11c30-11c36 11c38-11c3d 11c3f 11c92-11ca7
    11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 11d97
    11ef3-11ef4 11f00-11f01 11f36-11f3a 11f40 11f42 11f5a 13440 13447-13455 1611e-16129 1612d-1612f 16f4f 16fe4
    1cf00-1cf2d 1cf30-1cf46 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e08f 1e130-1e136 1e2ae
    1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e944-1e94a
"""
_NO_MARKS = """
    7fd 897-89f 8ca-8d3 9fe afa-aff b55 c04 c3c cf3 d00 d3b-d3c d81 eba ece 1715 180f 1abf-1ace 1cf7 1df6-1dfa a82c
    a8ff 10d24-10d27 10d69-10d6d 10eab-10eac 10efc-10eff 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 11145-11146
    111c9 111ce-111cf 11241 1133b 113b8-113c0 113c2 113c5 113c7-113ca 113cc-113d0 113d2 113e1-113e2 1145e
    1182c-1183a 11930-11935 11937-11938 1193b-1193e 11940 11942-11943 119d1-119d7 119da-119e0 119e4 11a01-11a0a
    11a33-11a39 11a3b-11a3e 11a47 11a51-11a5b 11a8a-11a99 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47
    11d8a-11d8e 11d90-11d91 11d93-11d97 11ef3-11ef6 11f00-11f01 11f03 11f34-11f3a 11f3e-11f42 11f5a 13440
    13447-13455 1611e-1612f 16f4f 16f7f-16f87 16fe4 16ff0-16ff1 1cf00-1cf2d 1cf30-1cf46 1e08f 1e130-1e136 1e2ae
    1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef
"""
_CLASSLESS = """
    7fd 897-89f 8ca-8d3 9fe c3c d3b-d3c eba 1715 1abf-1ace 1df6-1dfa a82c 10d24-10d27 10d69-10d6d 10eab-10eac
    10efd-10eff 10f46-10f50 10f82-10f85 11070 1133b 113ce-113d0 1145e 11839-1183a 1193d-1193e 11943 119e0 11a34
    11a47 11a99 11d42 11d44-11d45 11d97 11f41-11f42 1612f 16ff0-16ff1 1e08f 1e130-1e136 1e2ae 1e2ec-1e2ef
    1e4ec-1e4ef 1e5ee-1e5ef
"""
_WHOLE = "105c9 105e4 11383 11385 1138e 11391 113c5 113c7-113c8 11938 16121-16128 16d68-16d6a"
_WHOLE_COMPATIBLY = "32ff a7f2-a7f4 ab69 10781-10785 10787-107b0 107b2-107ba 1ccd6-1ccf9 1e030-1e06d 1f16c 1fbf0-1fbf9"
_PARTS = "105d2 105da 11382 11384 1138b 11390 113b8 113bb 113c2 113c9 11930 11935 1611e-16120 16129 16d63 16d67"
"""Of which characters are composed that are not there."""
_NEW_CAPITALS = (
    {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7CE: 0xA7CF, 0xA7D2: 0xA7D3, 0xA7D4: 0xA7D5}
    | {0xA7DA: 0xA7DB, 0xA7DC: 0x19B}
    | {0x10D50 + at: 0x10D70 + at for at in range(22)}
    | {0x16EA0 + at: 0x16EBB + at for at in range(25)}
)
"""Of 16.0 and 17.0: Python's own tables may be older."""


def code_points(ranges: str) -> frozenset[int]:
    """Return the code points of ranges in hexadecimal."""
    found: set[int] = set()
    for span in ranges.split():
        first, _, last = span.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(found)


@cache
def controls() -> frozenset[int]:
    """Return what ``clean_text`` takes away: controls, formats, private use and U+FFFD, but no tab or line end."""
    return (members("Cc") | members("Cf") | members("Co") | {0xFFFD}) - code_points(_NO_CONTROLS)


@cache
def punctuation() -> frozenset[int]:
    """Return punctuation marks, with all of ASCII that is neither a letter, a digit, a space nor a control."""
    ascii = {code for code in range(0x21, 0x7F) if not chr(code).isalnum()}
    return ((members("P") | {0x166D, 0x111C9}) - code_points(_NO_PUNCTUATION)) | ascii


@cache
def nonspacing() -> frozenset[int]:
    """Return the marks that BERT's normalizer strips (``Mn``)."""
    return (members("Mn") | {0x1734, 0x1171E}) - code_points(_NOT_NONSPACING)


@cache
def marks() -> frozenset[int]:
    """Return the marks that the stage ``StripAccents`` strips (``M``)."""
    return (members("M") | {0x1CF2, 0x1CF3}) - code_points(_NO_MARKS)


@cache
def classless() -> frozenset[int]:
    """Return the characters whose combining class is 0 there and not here."""
    return code_points(_CLASSLESS)


@cache
def whole() -> frozenset[int]:
    """Return the characters that have a canonical decomposition here and not there."""
    return code_points(_WHOLE)


@cache
def inert() -> frozenset[int]:
    """Return the characters that no form of normalization touches there, and one does here."""
    return classless() | whole() | code_points(_WHOLE_COMPATIBLY) | code_points(_PARTS)


def lowercase(character: str) -> str:
    """Put one character into lower case, whatever is around it."""
    new = _NEW_CAPITALS.get(ord(character))
    return character.lower() if new is None else chr(new)
