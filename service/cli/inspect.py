"""``tokd inspect``: show the contents of an artifact, or of the token files that ``tokd encode-corpus`` has written."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from service.cli.options import Parser
from service.cli.streams import excerpt, printable, write_result
from service.cli.token_files import holds_token_files, show_token_files
from tokenizer_core import TokdError, Tokenizer, read_token_files

LONGEST = 5
"""Number of longest tokens to show."""

LINE = 100
"""Most characters of a value that the text shows; ``--json`` has all of them."""

SHOWN_SPECIALS = 12
"""Number of special tokens in the text; ``--json`` has all."""


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "inspect",
        help="show what is in an artifact or a corpus of tokens",
        description="Show what is in an artifact: its hashes, pipeline, special and longest tokens, and its origin; or "
        "what is in the files that encode-corpus has written.",
    )
    parser.add_argument("artifact", metavar="ARTIFACT", help="artifact directory, or one with token files")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Open and describe."""
    if holds_token_files(Path(args.artifact)):
        show_token_files(read_token_files(Path(args.artifact)), as_json=args.json)
        return 0
    description = describe(Tokenizer.open(args.artifact))
    write_result(description, _as_text(description), as_json=args.json)
    return 0


def describe(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return everything that is shown, as plain JSON values."""
    vocabulary = tokenizer.parts.vocabulary
    ids = range(vocabulary.id_limit)
    tokens = {id: token for id in ids if (token := vocabulary.token_bytes(id)) is not None}
    added = {token.id for token in tokenizer.added_tokens}
    ordinary = [(len(token), id) for id, token in tokens.items() if id not in added]
    longest = sorted(ordinary, key=lambda entry: (-entry[0], entry[1]))[:LONGEST]
    total = len(tokens.keys() | added)
    settings = tokenizer.settings
    return {
        "name": tokenizer.name,
        "hash": tokenizer.hash,
        "template": tokenizer.template_hash,
        "response_template": _response_template(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        "tokens": total,
        "holes": tokenizer.vocab_size - total,
        "merges": len(tokenizer.merges),
        "added_tokens": len(added),
        "special_tokens": tokenizer.special_tokens,
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
            {"id": id, "bytes": length, "text": tokens[id].decode(errors="replace")} for length, id in longest
        ],
        "provenance": dict(tokenizer.provenance),
    }


def _as_text(found: dict[str, Any]) -> str:
    specials = list(found["special_tokens"].items())
    holes = f", {found['holes']:,} hole{'s' if found['holes'] > 1 else ''}" if found["holes"] else ""
    rows = [
        ("name", found["name"]),
        ("hash", found["hash"]),
        ("template", found["template"] or "none"),
        *_responses(found["response_template"]),
        ("ids", f"{found['vocab_size']:,} ({found['tokens']:,} tokens{holes})"),
        ("mean token", f"{found['bytes_per_token']:.2f} bytes"),
        ("merges", f"{found['merges']:,}{', ignored for whole tokens' if found['pipeline']['ignore_merges'] else ''}"),
        ("unicode", found["unicode_version"]),
        *_pipeline(found["pipeline"], {id: literal for literal, id in specials}),
        *(
            (key.replace("_", " "), _setting(value, found))
            for key, value in found["settings"].items()
            if value is not None
        ),
        ("added tokens", f"{found['added_tokens']:,}, {len(found['special_tokens']):,} of them special"),
    ]
    rows += [("", f"{id:>7}  {literal}") for literal, id in specials[:SHOWN_SPECIALS]]
    if len(specials) > SHOWN_SPECIALS:
        rows.append(("", f"and {len(specials) - SHOWN_SPECIALS:,} more, which --json shows"))
    rows += [
        ("" if index else "longest", f"{token['id']:>7}  {token['bytes']} bytes  {_compact(token['text'])}")
        for index, token in enumerate(found["longest_tokens"])
    ]
    for key, value in found["provenance"].items():
        label = key.replace("_", " ")
        inner = value.items() if isinstance(value, dict) else [("", value)]
        rows += [(f"{label} {name}".rstrip(), v if isinstance(v, str) else _compact(v)) for name, v in inner]
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {excerpt(printable(value), LINE)}" for label, value in rows)


def _response_template(tokenizer: Tokenizer) -> dict[str, Any] | None:
    """Describe the response template; one that no reader takes has the reason as a note."""
    try:
        template = tokenizer.response_template
    except TokdError as error:
        return {"origin": "shipped", "fields": [], "notes": [error.message]}
    if template is None:
        return None
    return {"origin": template.origin, "fields": [*template.spec["fields"]], "notes": [*template.notes]}


def _responses(found: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Describe the response template: the fields of an answer that it reads, and what could not be derived."""
    if found is None:
        return []
    fields = ", ".join(field for field in found["fields"] if field != "head")
    return [("answers", f"{found['origin']} response template: {fields}"), *(("", note) for note in found["notes"])]


def _setting(value: Any, found: dict[str, Any]) -> str:
    """Show a setting; a literal with its id."""
    id = found["special_tokens"].get(value)
    return str(value) if id is None else f"{value}  {id}"


def _pipeline(pipeline: dict[str, Any], literals: dict[int, str]) -> list[tuple[str, str]]:
    """Describe the stages, a line each; what is not there has no line."""
    rows = [("normalizer", _stage(stage)) for stage in pipeline["normalizer"]]
    if pipeline["prefix_space"]:
        rows.append(("prefix space", "put before a text that does not begin with one"))
    rows += [("pretokenizer", _stage(stage)) for stage in pipeline["pretokenizer"]]
    for end in ("prefix", "suffix"):
        if ids := pipeline[f"{end}_ids"]:
            rows.append((f"{end} ids", ", ".join(f"{id}  {literals[id]}" if id in literals else str(id) for id in ids)))
    return rows


def _stage(stage: dict[str, Any]) -> str:
    words = [stage["type"]]
    for key, value in stage.items():
        if key == "pattern":
            ((kind, text),) = value.items()
            words.append(text if kind == "name" else f"{kind} {text}")
        elif key != "type" and value is not False:
            words.append(key if value is True else str(value))
    return ", ".join(words)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
