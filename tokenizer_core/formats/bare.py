"""Facts that formats of a vocabulary alone cannot hold: special tokens round a text, and how to find added tokens."""

from __future__ import annotations

from tokenizer_core.config import PipelineConfig
from tokenizer_core.errors import Unsupported


def require_bare(config: PipelineConfig, format: str) -> None:
    """Refuse what such a format would lose.

    Raises:
        Unsupported: with the field.
    """
    if config.prefix_ids or config.suffix_ids:
        raise Unsupported(
            f"{format} puts no special tokens round a text; export to huggingface", field="post_processor"
        )
    for token in config.added_tokens:
        if not token.special or token.lstrip or token.rstrip or token.single_word or token.normalized:
            raise Unsupported(
                f"{format} has only special tokens without flags, and {token.content!r} is another; "
                "export to huggingface",
                field=f"added_tokens[{token.content!r}]",
            )
