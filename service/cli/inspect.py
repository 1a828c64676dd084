"""``tokd inspect``: what is in an artifact."""

from __future__ import annotations

import argparse
import json
from typing import Any

from service.cli.options import Parser
from service.cli.streams import excerpt, printable, write_json, write_line
from tokenizer_core import Tokenizer

LONGEST = 5
"""How many of the longest tokens are shown."""

SHOWN_SPECIALS = 12
"""How many special tokens the text shows; ``--json`` has them all."""


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser("inspect", help="show what is in an artifact")
    parser.add_argument("artifact", metavar="ARTIFACT", help="artifact directory")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Open and describe."""
    description = describe(Tokenizer.open(args.artifact))
    if args.json:
        write_json(description)
    else:
        write_line(_as_text(description))
    return 0


def describe(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return everything that is shown, as plain JSON values."""
    vocabulary = tokenizer.parts.vocabulary
    ids = range(vocabulary.id_limit)
    tokens = {id_: token for id_ in ids if (token := vocabulary.token_bytes(id_)) is not None}
    added = {token.id for token in tokenizer.added_tokens}
    ordinary = [(len(token), id_) for id_, token in tokens.items() if id_ not in added]
    longest = sorted(ordinary, key=lambda entry: (-entry[0], entry[1]))[:LONGEST]
    total = len(tokens.keys() | added)
    settings = tokenizer.settings
    return {
        "name": tokenizer.name,
        "hash": tokenizer.hash,
        "template": tokenizer.template_hash,
        "vocab_size": tokenizer.vocab_size,
        "tokens": total,
        "holes": tokenizer.vocab_size - total,
        "merges": len(tokenizer.merges),
        "added_tokens": len(added),
        "special_tokens": dict(tokenizer.special_tokens),
        "unicode_version": tokenizer.unicode_version,
        "pipeline": {
            key: value for key, value in json.loads(tokenizer.config.to_json()).items() if key != "added_tokens"
        },
        "settings": {
            "bos": settings.bos,
            "eos": settings.eos,
            "pad": settings.pad,
            "unk": settings.unk,
            "padding_side": settings.padding_side,
            "truncation_side": settings.truncation_side,
            "model_max_length": settings.model_max_length,
        },
        "bytes_per_token": round(sum(length for length, _ in ordinary) / max(1, len(ordinary)), 2),
        "longest_tokens": [
            {"id": id_, "bytes": length, "text": tokens[id_].decode(errors="replace")} for length, id_ in longest
        ],
        "provenance": dict(tokenizer.provenance),
    }


def _as_text(found: dict[str, Any]) -> str:
    holes = f", {found['holes']:,} holes" if found["holes"] else ""
    settings = ", ".join(f"{key} {_show(value)}" for key, value in found["settings"].items() if value is not None)
    rows: list[tuple[str, str]] = [
        ("name", found["name"]),
        ("hash", found["hash"]),
        ("template", found["template"] or "none"),
        ("ids", f"{found['vocab_size']:,} ({found['tokens']:,} tokens{holes})"),
        ("merges", f"{found['merges']:,}"),
        ("added tokens", f"{found['added_tokens']:,}, {len(found['special_tokens']):,} of them special"),
        ("unicode", found["unicode_version"]),
        *((key.replace("_", " "), _show(value)) for key, value in found["pipeline"].items()),
        ("settings", settings),
        ("bytes a token", f"{found['bytes_per_token']:.2f}"),
    ]
    specials = list(found["special_tokens"].items())
    rows += [("special", f"{id_:>7}  {_show(literal)}") for literal, id_ in specials[:SHOWN_SPECIALS]]
    if len(specials) > SHOWN_SPECIALS:
        rows.append(("", f"and {len(specials) - SHOWN_SPECIALS:,} more (--json shows all)"))
    for token in found["longest_tokens"]:
        text = _show(token["text"])
        rows.append(("longest", f"{token['id']:>7}  {token['bytes']} bytes  {excerpt(text, 60)}"))
    rows += [(f"from {key}", _show(value)) for key, value in found["provenance"].items()]
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {value}".rstrip() for label, value in rows)


def _show(value: Any) -> str:
    """Return a value on one line; text of a file may hold anything, so control characters are escaped."""
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
