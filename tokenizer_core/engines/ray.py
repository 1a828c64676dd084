"""Do calls as tasks of a Ray cluster, whose hosts share the directories of a run (extra ``ray``).

Ray begins calls and says which of them it has lost. It is not asked what is done: when a host is cut off from the
network, an answer may never come, and ``ray.get`` waits for it without end.
"""

from __future__ import annotations

import importlib
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tokenizer_core.engines.engine import Call
from tokenizer_core.errors import ClusterFailed, InvalidOption, TokdError

REACHED = 20.0
"""Seconds that a cluster has to take a connection."""

AHEAD = 2
"""Calls given to Ray at a time for each of its processors."""

POLLED = 0.1
"""Seconds that answers are waited for at a time."""

LOOKED = 2.0
"""Seconds between two looks at the hosts, and at the markers of calls without an answer."""

GRACE = 10.0
"""Seconds for the answers of calls after a host is gone; then they are made again."""

UNSEEN = 60.0
"""Seconds until a marker must be seen here: NFS may hide a new file for so long."""

ATTEMPTS = 20
"""Workers that one call may lose: a call that ends its worker every time would be made for ever."""


@dataclass(slots=True, eq=False)
class _Open:
    """A call that is not done.

    Attributes:
        answers: those that have not come, of all attempts.
        lost: attempts of which nothing will come.
        again_at: when another attempt is made beside the others.
        told_at: when an answer said that it is done.
    """

    call: Call
    answers: list[Any] = field(default_factory=list)
    lost: int = 0
    again_at: float | None = None
    told_at: float | None = None


class RayEngine:
    """A connection to a Ray cluster; a context.

    Args:
        address: such as ``10.0.0.1:6379``, or ``auto`` for the cluster of this host; by default that of
            ``RAY_ADDRESS``, or else a cluster of this host alone that ends with the context.

    Raises:
        ClusterFailed: there is no such cluster.
        InvalidOption: Ray is not installed.
    """

    def __init__(self, address: str | None = None) -> None:
        self._ray = _ray()
        self._is_own = not self._ray.is_initialized()
        if self._is_own:
            # Ray would tell its makers of every cluster that it starts.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            try:
                _reach(address)
                self._ray.init(address, log_to_driver=False, logging_level="ERROR", include_dashboard=None)
            except (OSError, RuntimeError, ValueError, self._ray.exceptions.RayError) as error:
                reason = str(error).partition("\n")[0]
                raise ClusterFailed(f"there is no Ray cluster at {address or 'this host'}: {reason}") from None
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(_answer)
        self._hosts: set[str] = set()
        self._room = 1
        self._looked_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster, unless the program was in it before."""
        if self._is_own:
            self._ray.shutdown()

    def run(self, calls: Iterable[Call], pause: Callable[[], object]) -> Iterator[Call]:
        """As ``Engine.run``.

        Raises:
            ClusterFailed: a call has lost its worker again and again, or what it made is not seen here.
        """
        left, under_way = iter(calls), list[_Open]()
        self._hosts, self._looked_at = set(), 0.0
        try:
            while True:
                is_look = self._look(under_way)
                while len(under_way) < self._room and (call := next(left, None)) is not None:
                    under_way.append(_Open(call))
                    self._begin(under_way[-1])
                if not under_way:
                    return
                self._hear(under_way)
                pause()
                for one in list(under_way):
                    if (is_look or one.told_at is not None) and one.call.is_done():
                        under_way.remove(one)
                        self._cancel(one)
                        yield one.call
                    else:
                        self._mend(one)
        finally:
            for one in under_way:
                self._cancel(one)

    def _begin(self, one: _Open) -> None:
        call = one.call
        one.answers.append(self._task.remote(call.function, call.arguments, call.is_done))
        one.again_at = None

    def _look(self, under_way: Sequence[_Open]) -> bool:
        """See now and then whether hosts have come or gone; Ray does not tell which calls were on one that is gone."""
        now = time.monotonic()
        if now - self._looked_at < LOOKED:
            return False
        self._looked_at = now
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        hosts = {node["NodeID"] for node in nodes}
        if self._hosts - hosts:
            for one in under_way:
                one.again_at = now + GRACE
        self._hosts = hosts
        self._room = AHEAD * max(1, int(sum(node["Resources"].get("CPU", 0) for node in nodes)))
        return True

    def _hear(self, under_way: Sequence[_Open]) -> None:
        """Take the answers that have come."""
        waiting = {answer: one for one in under_way for answer in one.answers}
        if not waiting:
            time.sleep(POLLED)
            return
        # Where the answers are does not matter: fetching one could wait for a host that is gone.
        come, _ = self._ray.wait([*waiting], num_returns=1, timeout=POLLED, fetch_local=False)
        for answer in come:
            one = waiting[answer]
            one.answers.remove(answer)
            try:
                error = self._ray.get(answer, timeout=GRACE)
            except self._ray.exceptions.RayTaskError as failure:
                raise failure.as_instanceof_cause() from None
            except self._ray.exceptions.RayError as failure:
                self._lose(one, failure)
                continue
            if error is not None and not one.call.is_done():
                raise error
            one.told_at = time.monotonic()

    def _lose(self, one: _Open, failure: Exception) -> None:
        one.lost += 1
        if one.lost >= ATTEMPTS:
            reason = " ".join(str(failure).split())[:300]
            raise ClusterFailed(f"a task has lost {one.lost} workers, the last with: {reason}")
        if not one.answers:
            self._begin(one)

    def _mend(self, one: _Open) -> None:
        now = time.monotonic()
        if one.told_at is not None:
            if now - one.told_at > UNSEEN:
                raise ClusterFailed(
                    f"a task was done {UNSEEN:.0f} seconds ago, and what it made is not seen here; put the output "
                    "where all hosts share it"
                )
        elif one.again_at is not None and now > one.again_at:
            self._begin(one)

    def _cancel(self, one: _Open) -> None:
        for answer in one.answers:
            self._ray.cancel(answer, force=True)


def _answer(
    function: Callable[..., object], arguments: tuple[Any, ...], is_done: Callable[[], bool]
) -> Exception | None:
    """Make a call in a worker; what it made does not come back, only the error that ends the run."""
    try:
        if not is_done():
            function(*arguments)
    except (TokdError, OSError) as error:
        return error
    return None


def _reach(address: str | None) -> None:
    """Connect once to a cluster: Ray itself waits for minutes for one that is not there."""
    host, colon, port = (address or os.environ.get("RAY_ADDRESS", "")).rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), REACHED).close()


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise InvalidOption("this engine needs ray; install it with pip install 'tokd[ray]'", field="engine") from None
