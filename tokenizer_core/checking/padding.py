"""Point 6: padding differs from text, and the masks mark it."""

from __future__ import annotations

import numpy as np

from tokenizer_core.checking.report import Finding, failed, not_applicable, passed
from tokenizer_core.checking.texts import prose
from tokenizer_core.config import Side
from tokenizer_core.padding import Row, shape_rows
from tokenizer_core.tokenizer import Tokenizer

_ROWS = ("", "a", "one row is short", "another is as long as a line of text usually gets, or a little longer")


def padding(tokenizer: Tokenizer) -> Finding:
    """Pad and truncate rows on both sides and hold ids, masks and positions against the rows."""
    pad_id = tokenizer.pad_id
    if pad_id is None:
        return not_applicable("the tokenizer has no pad token")
    evidence = {
        "pad_id": pad_id,
        "padding_side": tokenizer.settings.padding_side,
        "pad_is_eos": tokenizer.settings.pad == tokenizer.settings.eos,
    }
    problem = _token_problem(tokenizer, pad_id) or _row_problem(tokenizer, pad_id)
    if problem:
        return failed(problem, **evidence)
    note = (
        "; it is also the end-of-sequence token, so labels must be masked by position" if evidence["pad_is_eos"] else ""
    )
    return passed(f"padding with id {pad_id} is hidden on decode and masked on both sides{note}", **evidence)


def _token_problem(tokenizer: Tokenizer, pad_id: int) -> str | None:
    if pad_id >= tokenizer.vocab_size:
        return f"the pad id {pad_id} is not below the vocabulary size {tokenizer.vocab_size}"
    if tokenizer.decode([pad_id], skip_special_tokens=True):
        return f"the pad id {pad_id} is not special: skip_special_tokens leaves it in the text"
    if any(pad_id in tokenizer.encode(text, special_tokens="text") for text in prose(tokenizer).values()):
        return f"ordinary text is encoded to the pad id {pad_id}"
    return None


def _row_problem(tokenizer: Tokenizer, pad_id: int) -> str | None:
    prefix, suffix = len(tokenizer.config.prefix_ids), len(tokenizer.config.suffix_ids)
    rows = [tokenizer.encode(text, special_tokens="text", add_special_tokens=True) for text in _ROWS]
    sides: tuple[Side, ...] = ("left", "right")
    for side in sides:
        for max_length in (None, prefix + suffix + 3):
            shaped = shape_rows(
                rows,
                max_length=max_length,
                truncation_side=side,
                padding="longest",
                padding_side=side,
                pad_id=pad_id,
                prefix=prefix,
                suffix=suffix,
            )
            for whole, row in zip(rows, shaped, strict=True):
                problem = _mask_problem(whole, row, side, pad_id)
                if problem:
                    return f"{problem} (padding on the {side}, max_length {max_length})"
                if tokenizer.decode(row.ids, skip_special_tokens=True) != tokenizer.decode(
                    row.cut.apply(whole), skip_special_tokens=True
                ):
                    return f"padding on the {side} changes the decoded text"
    return None


def _mask_problem(whole: np.ndarray, row: Row, side: Side, pad_id: int) -> str | None:
    mask = row.attention_mask().astype(bool)
    if not np.array_equal(row.ids[mask], row.cut.apply(whole)):
        return "the attention mask does not cover exactly the row"
    if not np.all(row.ids[~mask] == pad_id):
        return "something other than padding is masked"
    if not np.array_equal(row.position_ids()[mask], np.arange(mask.sum())):
        return "positions do not count the tokens from 0"
    padded_end = mask[0] if side == "right" else mask[-1]
    if len(mask) and mask.any() and not padded_end:
        return "padding stands on the wrong side"
    return None
