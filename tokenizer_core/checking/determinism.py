"""Point 11: a text gives the same ids in every run and on every thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tokenizer_core.checking.report import Finding, failed, passed
from tokenizer_core.checking.texts import hard, prose
from tokenizer_core.tokenizer import Tokenizer

THREADS = (1, 2, 4)
_COPIES = 8


def determinism(tokenizer: Tokenizer) -> Finding:
    """Encode every text again: alone, in batches, on threads at once, and with a new tokenizer object."""
    texts = [*hard(tokenizer).values(), *prose(tokenizer).values()] * _COPIES
    truth = [tokenizer.encode(text, special_tokens="text").tolist() for text in texts]
    ways = 0
    for way, rows in _ways(tokenizer, texts):
        ways += 1
        for index, (row, expected) in enumerate(zip(rows, truth, strict=True)):
            if row != expected:
                return failed(
                    f"{way} gives other ids than the first run, for text {index}",
                    way=way,
                    text=texts[index][:80],
                    first_run=expected[:20],
                    found=row[:20],
                )
    return passed(f"{len(texts)} texts give the same ids in {ways + 1} ways", texts=len(texts), ways=ways + 1)


def _ways(tokenizer: Tokenizer, texts: list[str]) -> Iterator[tuple[str, list[list[int]]]]:
    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, special_tokens="text").tolist()
        return ids

    yield "a second run", [encode(text) for text in texts]
    for threads in THREADS:
        batch = tokenizer.encode_batch(texts, special_tokens="text", threads=threads)
        yield f"a batch on {threads} threads", [batch[index].tolist() for index in range(len(batch))]
    with ThreadPoolExecutor(max(THREADS)) as pool:
        yield f"{max(THREADS)} callers at once", list(pool.map(encode, texts))
    again = Tokenizer(tokenizer.parts)
    yield "the tokenizer built anew", [again.encode(text, special_tokens="text").tolist() for text in texts]
