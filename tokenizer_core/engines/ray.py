"""Do calls as tasks of a Ray cluster, whose hosts share the directories of a run (extra ``ray``).

Ray begins calls and says which of them it has lost. It is not asked what is done: when a host is cut off from the
network, an answer may never come, and ``ray.get`` waits for it without end.
"""

from __future__ import annotations

import importlib
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tokenizer_core.engines.engine import Call
from tokenizer_core.errors import ClusterFailed, InvalidOption, TokdError

CONNECT_TIMEOUT = 20.0
"""Seconds that a cluster has to take a connection."""

AHEAD = 2
"""Calls given to a host at a time for each of its processors."""

POLLED = 0.1
"""Seconds that answers are waited for at a time."""

LOOKED = 2.0
"""Seconds between two looks at the hosts, and at the markers of calls without an answer."""

STRAGGLER_SECONDS = 10.0
"""Seconds until a host with nothing to do makes a call that is under way elsewhere; twice as many for each attempt."""

NFS_DELAY = 60.0
"""Seconds until a marker must be seen here: NFS may hide a new file for so long."""

ATTEMPTS = 20
"""Workers that one call may lose: a call that ends its worker every time would be made for ever."""

ANY = ""
"""In the place of a host while none has a processor: one may come."""


@dataclass(slots=True, eq=False)
class _PendingCall:
    """A call that is not done.

    Attributes:
        hosts: of the attempts whose answers have not come, by these.
        made: attempts so far.
        begun_at: when the last attempt was made.
        lost: attempts that lost their worker or their host.
        told_at: when an answer said that it is done.
    """

    call: Call
    hosts: dict[Any, str] = field(default_factory=dict)
    made: int = 0
    begun_at: float = 0.0
    lost: int = 0
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
                raise ClusterFailed(f"there is no Ray cluster at {address or 'this host'}: {reason}{_hint()}") from None
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(_answer)
        self._strategies = importlib.import_module("ray.util.scheduling_strategies")
        self._processors: dict[str, int] = {}
        # Attempts at calls that are done, with their hosts.
        self._strays: dict[Any, str] = {}
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
        left, under_way = iter(calls), list[_PendingCall]()
        self._processors, self._looked_at = {}, 0.0
        try:
            while True:
                is_look = self._look(under_way)
                are_all_given = self._give(left, under_way)
                if are_all_given and not under_way:
                    return
                self._hear(under_way)
                pause()
                for one in list(under_way):
                    if (is_look or one.told_at is not None) and one.call.is_done():
                        under_way.remove(one)
                        # They find that it is done. To cancel one in the moment of its answer would crash Ray's driver.
                        self._strays |= one.hosts
                        yield one.call
                    elif one.told_at is not None and time.monotonic() - one.told_at > NFS_DELAY:
                        raise ClusterFailed(
                            f"a task was done {NFS_DELAY:.0f} seconds ago, and what it made is not seen here; put the "
                            "output where all hosts share it"
                        )
        finally:
            for one in under_way:
                for answer in one.hosts:
                    self._ray.cancel(answer, force=True)

    def _look(self, under_way: Sequence[_PendingCall]) -> bool:
        """See now and then which hosts there are. Those of calls that were on one that is gone may never answer."""
        now = time.monotonic()
        if now - self._looked_at < LOOKED:
            return False
        self._looked_at = now
        try:
            nodes = self._ray.nodes()
        except self._ray.exceptions.RayError:
            # The head is away, and comes back or not: Ray ends a driver that has not reached it for a minute.
            self._processors = self._processors or {ANY: 1}
            return True
        alive = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]}
        self._processors = {host: count for host, count in alive.items() if count} or {ANY: 1}
        alive[ANY] = 0
        self._strays = {answer: host for answer, host in self._strays.items() if host in alive}
        for one in under_way:
            gone = [answer for answer, host in one.hosts.items() if host not in alive]
            for answer in gone:
                self._lose(one, answer, "its host is gone")
        return True

    def _give(self, left: Iterator[Call], under_way: list[_PendingCall]) -> bool:
        """Give each host what it has room for: calls that nobody has, or in the end those of hosts that are slow.

        Returns ``True`` if no call is left that nobody has.

        Calls name their host because Ray, asked for any, waits for a host that is cut off while others are idle. That a
        host without work repeats the work of others is from Dean and Ghemawat, MapReduce (2004), section 3.6.
        """
        given = Counter(host for one in under_way for host in one.hosts.values())
        given.update(self._strays.values())
        for one in under_way:
            if not one.hosts and one.told_at is None:
                self._begin(one, given)
        while any(given[host] < AHEAD * count for host, count in self._processors.items()):
            if (call := next(left, None)) is None:
                self._repeat(under_way, given)
                return True
            under_way.append(_PendingCall(call))
            self._begin(under_way[-1], given)
        return False

    def _repeat(self, under_way: Sequence[_PendingCall], given: Counter[str]) -> None:
        now = time.monotonic()
        for one in under_way:
            if one.told_at is None and now - one.begun_at > STRAGGLER_SECONDS * 2 ** (one.made - 1):
                idle = {host for host, count in self._processors.items() if given[host] < count}
                if idle.difference(one.hosts.values()):
                    self._begin(one, given)

    def _begin(self, one: _PendingCall, given: Counter[str]) -> None:
        """Make an attempt on the host with the fewest calls for each processor, of those where the call is not."""
        call, here = one.call, set(one.hosts.values())
        host = min(self._processors, key=lambda host: (host in here, given[host] / self._processors[host]))
        strategy = "DEFAULT" if host == ANY else self._strategies.NodeAffinitySchedulingStrategy(host, soft=False)
        task = self._task.options(scheduling_strategy=strategy)
        one.hosts[task.remote(call.function, call.arguments, call.is_done)] = host
        one.made, one.begun_at = one.made + 1, time.monotonic()
        given[host] += 1

    def _hear(self, under_way: Sequence[_PendingCall]) -> None:
        """Take the answers that have come."""
        waiting = {answer: one for one in under_way for answer in one.hosts}
        open_ones = [*waiting, *self._strays]
        if not open_ones:
            time.sleep(POLLED)
            return
        # The place of the answers does not matter: fetching one could wait for a host that is gone.
        come, _ = self._ray.wait(open_ones, num_returns=1, timeout=POLLED, fetch_local=False)
        for answer in come:
            if (one := waiting.get(answer)) is None:
                del self._strays[answer]
                continue
            try:
                error = self._ray.get(answer, timeout=STRAGGLER_SECONDS)
            except self._ray.exceptions.RayTaskError as failure:
                raise failure.as_instanceof_cause() from None
            except self._ray.exceptions.RayError as failure:
                self._lose(one, answer, str(failure))
                continue
            del one.hosts[answer]
            if error is not None and not one.call.is_done():
                raise error
            one.told_at = time.monotonic()

    def _lose(self, one: _PendingCall, answer: Any, why: str) -> None:
        del one.hosts[answer]
        one.lost += 1
        self._looked_at = 0.0
        if one.lost >= ATTEMPTS:
            reason = " ".join(why.split())[:300]
            raise ClusterFailed(f"a task has lost {one.lost} workers, the last with: {reason}")


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
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT).close()


def _hint() -> str:
    """Tell of tokens: Ray names none of those that it misses, and looks for none unless it is told to."""
    return "" if "RAY_AUTH_MODE" in os.environ else "; set RAY_AUTH_MODE=token if the cluster asks for a token"


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise InvalidOption("this engine needs ray; install it with pip install 'tokd[ray]'", field="engine") from None
