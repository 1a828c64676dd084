"""A plan holds every token once, in packs that are as full as best-fit decreasing makes them."""

from __future__ import annotations

import time
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenizer_core import InvalidOption, PackPlan, RowTooLong, plan_packs

LENGTHS = st.lists(st.integers(0, 40), max_size=60)


def packs_of(plan: PackPlan) -> list[list[tuple[int, int, int]]]:
    members = [*zip(plan.rows.tolist(), plan.starts.tolist(), plan.ends.tolist(), strict=True)]
    return [members[plan.offsets[at] : plan.offsets[at + 1]] for at in range(len(plan))]


def best_fit_decreasing(lengths: list[int], length: int) -> list[list[int]]:
    """Pack by the definition: every pack is looked at for every row; of equal room the one that came to it last."""
    packs: list[tuple[list[int], int, int]] = []
    rows = sorted((row for row, size in enumerate(lengths) if size), key=lambda row: -lengths[row])
    for now, row in enumerate(rows):
        fitting = [(room, -since, at) for at, (_, room, since) in enumerate(packs) if room >= lengths[row]]
        if fitting:
            room, _, at = min(fitting)
            packs[at] = ([*packs[at][0], row], room - lengths[row], now)
        else:
            packs.append(([row], length - lengths[row], now))
    return sorted(sorted(rows) for rows, _, _ in packs)


@given(lengths=LENGTHS)
def test_best_fit_is_that_of_its_definition(lengths: list[int]) -> None:
    plan = plan_packs(lengths, 40)
    assert [[row for row, _, _ in pack] for pack in packs_of(plan)] == best_fit_decreasing(lengths, 40)
    assert plan.empty == lengths.count(0)


@given(
    lengths=LENGTHS,
    length=st.integers(1, 50),
    method=st.sampled_from(["best-fit", "wrapped", "none"]),
    seed=st.none() | st.integers(0, 1 << 64),
)
def test_every_token_stands_in_one_pack_and_no_pack_is_too_long(
    lengths: list[int], length: int, method: Any, seed: int | None
) -> None:
    plan = plan_packs(lengths, length, method=method, overflow="split", seed=seed)
    packs = packs_of(plan)
    assert all(0 < sum(end - start for _, start, end in pack) <= length for pack in packs)
    held = sorted((row, at) for pack in packs for row, start, end in pack for at in range(start, end))
    assert held == [(row, at) for row, size in enumerate(lengths) for at in range(size)]
    assert plan.tokens == sum(lengths)
    if method == "none":
        assert all(len(pack) == 1 for pack in packs)
    if method == "wrapped":
        assert len(packs) == -(-sum(lengths) // length)


@given(lengths=LENGTHS, seed=st.integers(0, 1 << 64))
def test_a_seed_changes_the_order_of_the_packs_alone(lengths: list[int], seed: int) -> None:
    plain, shuffled = packs_of(plan_packs(lengths, 40)), packs_of(plan_packs(lengths, 40, seed=seed))
    assert sorted(shuffled) == sorted(plain)
    assert packs_of(plan_packs(lengths, 40, seed=seed)) == shuffled


def splitmix64(seed: int, number: int) -> int:
    """Return a number of the generator in whole numbers of Python (Steele, Lea, Flood 2014)."""
    state, mask = (seed + number * 0x9E3779B97F4A7C15) % (1 << 64), (1 << 64) - 1
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
    state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
    return state ^ state >> 31


def test_the_order_of_a_seed_is_the_same_everywhere() -> None:
    assert plan_packs([7] * 12, 7, seed=42).rows.tolist() == sorted(
        range(12), key=lambda pack: splitmix64(42, pack + 1)
    )


@pytest.mark.parametrize(
    ("overflow", "members", "counts"),
    [
        ("split", [[(1, 0, 4), (1, 4, 8), (1, 8, 9), (0, 0, 3)]], (1, 0, 0, 0)),
        ("truncate", [[(0, 0, 3)], [(1, 0, 4)]], (0, 1, 0, 5)),
        ("drop", [[(0, 0, 3)]], (0, 0, 1, 9)),
    ],
)
def test_long_rows_become_what_overflow_says(overflow: Any, members: Any, counts: tuple[int, ...]) -> None:
    plan = plan_packs([3, 9], 4, overflow=overflow)
    assert sorted(member for pack in packs_of(plan) for member in pack) == sorted(chain.from_iterable(members))
    assert (plan.split, plan.truncated, plan.dropped, plan.tokens_lost) == counts


def test_a_row_of_one_over_a_multiple_of_the_length_is_split_and_packed() -> None:
    assert packs_of(plan_packs([8193, 8191], 8192, overflow="split")) == [
        [(0, 0, 8192)],
        [(0, 8192, 8193), (1, 0, 8191)],
    ]


def test_a_long_row_is_an_error_by_default_with_its_place() -> None:
    with pytest.raises(RowTooLong, match="row 2 has 5 tokens") as caught:
        plan_packs([4, 1, 5], 4)
    assert caught.value.place == {"row": 2}


def test_members_are_aligned() -> None:
    plan = plan_packs([1, 9, 8, 7, 17], 32, align=8)
    for pack in packs_of(plan):
        assert sum(-(-(end - start) // 8) * 8 for _, start, end in pack) <= 32


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"length": 0}, "length"),
        ({"length": (1 << 24) + 1}, "length"),
        ({"length": True}, "length"),
        ({"method": "worst-fit"}, "method"),
        ({"overflow": "wrap"}, "overflow"),
        ({"align": 3}, "length"),
        ({"align": 2, "method": "wrapped"}, "align"),
        ({"seed": -1}, "seed"),
        ({"lengths": [1, -2]}, "lengths[1]"),
        ({"lengths": [1.5]}, "lengths"),
        ({"lengths": [[1]]}, "lengths"),
    ],
)
def test_options_that_cannot_be_are_refused_with_their_field(arguments: Any, field: str) -> None:
    given = {"lengths": [1, 2], "length": 8, **arguments}
    with pytest.raises(InvalidOption) as caught:
        plan_packs(given.pop("lengths"), given.pop("length"), **given)
    assert caught.value.place["field"] == field


def test_a_million_rows_are_packed_in_a_second_and_nearly_full() -> None:
    random = np.random.default_rng(7)
    lengths = np.minimum(random.lognormal(np.log(300), 1.0, 1_000_000).astype(np.int64) + 1, 4096)
    for length in (4096, 8192):
        begin = time.process_time()
        plan = plan_packs(lengths, length)
        assert time.process_time() - begin < 2
        assert plan.full > 0.999
