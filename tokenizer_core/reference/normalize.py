"""Rewrite text, and record the origin of every character."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from itertools import groupby, pairwise
from typing import Any

import regex
import unicodedata2

from tokenizer_core.reference import bert, charsmap, older_tables, sentencepiece
from tokenizer_core.reference.byte_alphabet import to_entry
from tokenizer_core.reference.pretokenize import stretches
from tokenizer_core.reference.unicode_classes import members

_NMT = dict.fromkeys((*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F), "") | dict.fromkeys(
    (0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD), " "
)
"""The characters that SentencePiece's ``nmt`` drops, and those that it makes a space."""


def normalize(stages: Iterable[Mapping[str, Any]], text: str) -> str:
    """Run the stages in order.

    Raises:
        ValueError: a stage is not known here.
    """
    for stage in stages:
        text = _run(stage, text)
    return text


def _run(stage: Mapping[str, Any], text: str) -> str:
    kind = stage["type"]
    if kind in {"nfc", "nfd", "nfkc", "nfkd"}:
        runs = groupby(text, lambda character: ord(character) in older_tables.inert())
        parts = ((is_inert, "".join(run)) for is_inert, run in runs)
        return "".join(part if is_inert else unicodedata2.normalize(kind.upper(), part) for is_inert, part in parts)
    if kind == "lowercase":
        # Character by character: the final sigma is no different from any other.
        return "".join(map(older_tables.lowercase, text))
    if kind == "replace":
        return "".join(stage["content"] if is_match else part for part, is_match in stretches(stage["pattern"], text))
    if kind == "prepend":
        return stage["prefix"] + text if text else text
    if kind == "strip":
        white = "".join(map(chr, members("White_Space")))
        text = text.lstrip(white) if stage["left"] else text
        return text.rstrip(white) if stage["right"] else text
    if kind == "strip_accents":
        return "".join(character for character in text if ord(character) not in older_tables.marks())
    if kind == "bert":
        return bert.normalize(text, **{key: value for key, value in stage.items() if key != "type"})
    if kind == "byte_level":
        return to_entry(text.encode("utf-8"))
    if kind == "nmt":
        return "".join(_NMT.get(ord(character), character) for character in text)
    if kind == "precompiled":
        return _precompiled(text, charsmap.rules(base64.b64decode(stage["charsmap"])))
    if kind == "sentence_piece":
        flags = {flag: stage[flag] for flag in ("dummy_prefix", "suffix", "fold", "escape")}
        rules = charsmap.rules(base64.b64decode(stage["charsmap"]))
        return sentencepiece.normalize(text, rules, stage["symbols"], **flags)
    raise ValueError(f"unknown normalizer stage {kind!r}")


def _precompiled(text: str, rules: Mapping[str, str]) -> str:
    """Rewrite clusters of up to five bytes, else characters: the shortest key that one begins with stands for all."""
    found = []
    for cluster in regex.findall(r"\X", text):
        units = [cluster] if len(cluster.encode("utf-8")) <= 5 and _shortest(cluster, rules) else list(cluster)
        found += [rules[key] if (key := _shortest(unit, rules)) else unit for unit in units]
    return "".join(found)


def _shortest(text: str, rules: Mapping[str, str]) -> str | None:
    return next((text[:length] for length in range(1, len(text) + 1) if text[:length] in rules), None)


def clean_cuts(stages: Iterable[Mapping[str, Any]], text: str) -> list[tuple[int, int]]:
    """Return the places ``(in the source, in the rewritten text)`` where the text can be cut before it is rewritten.

    A cut is clean when both sides rewritten alone give the whole rewritten; what lies between two neighbouring cuts in
    the rewritten text came from what lies between them in the source. Places are in characters.
    """
    stages = list(stages)
    whole = normalize(stages, text)
    cuts = []
    for place in range(len(text) + 1):
        left, right = normalize(stages, text[:place]), normalize(stages, text[place:])
        if left + right == whole:
            cuts.append((place, len(left)))
    return cuts


def byte_cuts(source: str, text: str, cuts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Turn clean cuts into bytes, and add every byte of the unchanged text between two of them."""
    found = [(0, 0)]
    for (first, here), (last, there) in pairwise(cuts):
        before, after = source[first:last].encode("utf-8"), text[here:there].encode("utf-8")
        steps = range(1, len(before)) if before == after else ()
        in_source, in_text = found[-1]
        found += [(in_source + step, in_text + step) for step in steps]
        found.append((in_source + len(before), in_text + len(after)))
    return found
