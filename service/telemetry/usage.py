"""The usage of each tokenizer: requests and tokens by tokenizer and, if the operator wants that, by key."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter

from service.request_log import LogEntry

MAX_KEYS = 100
"""Names of keys that have numbers of their own; what others ask for is counted together."""

OTHER = "other"


class Usage:
    """The numbers of one process.

    Args:
        label: returns what a tokenizer is called on the page, by its hash.
        by_key: also count by the names of keys, which anybody may read on the page.
    """

    def __init__(self, registry: CollectorRegistry, label: Callable[[str], str], *, by_key: bool) -> None:
        self._label, self._by_key = label, by_key
        self._requests = Counter(
            "tokd_usage_requests", "Requests answered, by tokenizer and key.", ("tokenizer", "key"), registry=registry
        )
        self._tokens = Counter(
            "tokd_usage_tokens", "Ids in and out, by tokenizer and key.", ("tokenizer", "key"), registry=registry
        )
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._keys: set[str] = set()

    def record(self, log_entry: LogEntry) -> None:
        """Count a request that was answered from a tokenizer."""
        if not log_entry.tokenizer:
            return
        pair = log_entry.tokenizer, log_entry.key if self._by_key else ""
        counts = self._counts.get(pair)
        if counts is None:
            counts = self._counts[pair] = [0, 0]
        counts[0] += 1
        counts[1] += log_entry.tokens

    def flush(self) -> None:
        """Add the counts to Prometheus's objects, and reset them."""
        counts, self._counts = self._counts, {}
        for (tokenizer, key), (requests, tokens) in counts.items():
            labels = self._label(tokenizer), self._key(key)
            self._requests.labels(*labels).inc(requests)
            self._tokens.labels(*labels).inc(tokens)

    def _key(self, key: str) -> str:
        if key and key not in self._keys:
            if len(self._keys) == MAX_KEYS:
                return OTHER
            self._keys.add(key)
        return key
