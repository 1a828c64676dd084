"""The script of a character as Hugging Face's ``tokenizers`` sees it: in Unicode 9.0, with all of Japanese as one."""

from __future__ import annotations

from functools import cache

import regex
import unicodedata2

from tokenizer_core.reference.older_tables import code_points

_NAMES = """
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
    Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee
    Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Duployan Egyptian_Hieroglyphs Elbasan Ethiopic
    Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Imperial_Aramaic
    Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Kayah_Li Kharoshthi Khmer
    Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Malayalam Mandaic
    Manichaean Marchen Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro
    Multani Myanmar Nabataean New_Tai_Lue Newa Nko Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian
    Old_Permic Old_Persian Old_South_Arabian Old_Turkic Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau
    Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting
    Sinhala Sora_Sompeng Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil
    Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Ugaritic Vai Warang_Citi Yi
"""
_NEWER = """
    20 560 588 5ef 61d 7fd-7ff 860-89f 8b5 8be-8d3 9fc-9fe a76 afa-aff b55 c04 c3c c5d c77 c84 cdd cf3-d00 d04
    d3b-d3c d81 e86 e89 e8c e8e-e93 e98 ea0 ea8-ea9 eac eba ece 170d 1715-171f 180f 1878 1abf-1ace 1b4c-1b4f
    1b7d-1b7f 1c89-1cbf 1cf7 1cfa 1df6-1dfa 20bf-20c0 23ff 2427-2429 2b97 2bba-2bbc 2bc9 2bd2-2beb 2bf0-2bff 2c2f
    2c5f 2e45-2e5d 2ffc-2fff 312e-312f 31bb-31bf 31e4-31ef 32ff 4db6-4dbf 9fd6-9fff a7af a7b8-a7f6 a82c a8fe-a8ff
    ab66-ab6b fbc2 fd40-fd4f fdcf fdfe-fdff 1019c 1032d-1032f 10780-107ba 10a34-10a35 10a48 10ec2-10eff
    11070-11075 110c2-110cd 11144-11147 111ce-111cf 1123f-11241 1133b 1145a 1145e-11461 116b8-116b9 116d0-116e3
    1171a 11740-11746 11ab0-11abf 11b00-11b09 11fb0-11fff 1342f-143fa 16f45-16f4f 16f7f-16f87 16fe2-16ff1
    187ed-187f7 18af3-1affe 1b002-1b167 1cc00-1cfc3 1d1e9-1d1ea 1d2c0-1d2f3 1d372-1d378 1df00-1df2a 1e030-1e7fe
    1e94b 1ec71-1ed3d 1f10d-1f10f 1f12f 1f16c-1f16f 1f1ad 1f260-1f265 1f6d3-1f6df 1f6f7-1f6fc 1f774-1f77f
    1f7d5-1f7f0 1f8b0-1f90f 1f91f 1f928-1f92f 1f931-1f932 1f93f 1f94c-1f94f 1f95f-1f97f 1f992-1f9bf 1f9c1-1fbf9
    2a6d7-2a6df 2b735-2b739 2ceb0-2ee5d 30000-323af
"""
"""Characters of these scripts that came after 9.0."""
_OTHERS = {"\u30fc": "Han", "\u0589": "Common", "\u061c": "Common", "\u0953": "Devanagari", "\u0954": "Devanagari"}


@cache
def _pattern() -> regex.Pattern[str]:
    scripts = "|".join(rf"(?P<{name}>\p{{Script={name}}})" for name in _NAMES.split())
    return regex.compile(rf"(?P<Japanese>\p{{Script=Hiragana}}|\p{{Script=Katakana}})|{scripts}")


@cache
def _newer() -> frozenset[int]:
    return code_points(_NEWER)


@cache
def script(character: str) -> str | None:
    """Return the script of a character, or nothing for one that belongs to what is around it.

    Such are the space, and what 9.0 does not know.
    """
    if character in _OTHERS:
        return _OTHERS[character]
    is_known = unicodedata2.category(character) != "Cn" and ord(character) not in _newer()
    match = _pattern().match(character) if is_known and character != " " else None
    name = match.lastgroup if match else None
    return "Han" if name == "Japanese" else name


def by_script(text: str) -> list[tuple[str, bool]]:
    """Tile a text where the script changes; the flag says whether a part is a piece.

    What has no script goes on with the piece before it; at the start of the text it is dropped.
    """
    parts: list[str] = []
    last = None
    for character in text:
        name = script(character)
        if parts and name in {None, last}:
            parts[-1] += character
        else:
            parts.append(character)
        last = name or last
    return [(part, script(part[0]) is not None) for part in parts]
