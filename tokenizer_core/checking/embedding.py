"""Point 8: the model has a row for every id."""

from __future__ import annotations

from tokenizer_core.checking.report import Finding, failed, not_applicable, passed
from tokenizer_core.tokenizer import Tokenizer


def embedding(tokenizer: Tokenizer, rows: int | None) -> Finding:
    """Compare the embedding's rows with the highest id.

    More rows than ids are usual (they are rounded up for the hardware); fewer make an id read outside the table.
    """
    if rows is None:
        return not_applicable("the number of embedding rows was not given")
    size = tokenizer.vocab_size
    evidence = {"embedding_rows": rows, "vocab_size": size}
    if rows < size:
        return failed(
            f"{rows} embedding rows are {size - rows} too few for ids up to {size - 1}",
            **evidence,
            ids_without_row=size - rows,
        )
    return passed(
        f"{rows} embedding rows cover ids up to {size - 1}, {rows - size} rows unused", **evidence, unused=rows - size
    )
