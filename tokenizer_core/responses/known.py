"""Data: what models write where their chat templates write something else."""

from __future__ import annotations

OPENINGS = {" to=functions.": "<|channel|>commentary to=functions."}
"""Beginnings of a call, by what the template writes: gpt-oss names the recipient behind the channel too."""

NAMED = {"<|channel|>commentary json<|message|>": (" <|constrain|>json<|message|>", " json<|message|>")}
"""What follows the name of the tool, by what the template writes."""
