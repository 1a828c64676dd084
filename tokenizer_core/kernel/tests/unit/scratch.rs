//! A scratch for every call, however calls nest, panic or run at once.

use super::*;

#[test]
fn a_slot_is_used_again_after_a_call_panicked_in_it_and_its_caches_are_new() {
    let pool = ScratchPool::new(1 << 16);
    let bytes = pool.with(|scratch| {
        scratch.caches.remember_long_piece(b"known", 0..5, false, &[7]);
        scratch.caches.bytes()
    });
    assert_eq!(pool.statistics(), CacheStatistics { bytes, misses: 1, ..CacheStatistics::default() });
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.with(|_| panic!("in the middle"))));
    assert!(died.is_err());
    pool.with(|scratch| scratch.caches.remember_long_piece(b"known", 0..5, false, &[7]));
    assert_eq!(pool.statistics().misses, 2);
}

#[test]
fn calls_within_calls_have_a_scratch_each_however_many_they_are() {
    fn nest(pool: &ScratchPool, depth: u64) {
        if depth > 0 {
            pool.with(|scratch| {
                scratch.caches.statistics.pieces += depth;
                nest(pool, depth - 1);
            });
        }
    }
    let pool = ScratchPool::new(1 << 16);
    let depth = pool.slots.len() as u64 + 3;
    nest(&pool, depth);
    assert_eq!(pool.statistics().pieces, depth * (depth + 1) / 2);
}

#[test]
fn calls_of_many_threads_have_a_scratch_each_and_all_are_counted() {
    const CALLS: u64 = 500;
    let pool = ScratchPool::new(1 << 12);
    let threads = pool.slots.len() as u32 + 2;
    thread::scope(|scope| {
        for own in 0..threads {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..CALLS {
                    pool.with(|scratch| {
                        scratch.ends[0] = own;
                        scratch.caches.statistics.pieces += 1;
                        thread::yield_now();
                        assert_eq!(scratch.ends[0], own);
                    });
                }
            });
        }
    });
    assert_eq!(pool.statistics().pieces, u64::from(threads) * CALLS);
}

#[test]
fn every_share_is_done_once_and_outcomes_are_in_order() {
    let pool = ScratchPool::new(0);
    for (threads, shares) in [(1, 0), (1, 7), (2, 1), (3, 40), (8, 60)] {
        let done = pool.with(|own| pool.spread(own, threads, shares, |_, share| share)).unwrap();
        assert_eq!(done, (0..shares).collect::<Vec<_>>());
    }
}

#[test]
fn what_a_long_text_took_is_given_back_when_it_ends() {
    let pool = ScratchPool::new(1 << 12);
    let take = |longest| {
        pool.with(|scratch| {
            let before = scratch.cuts.room().capacity();
            scratch.cuts.room().resize(4 * BUFFER_LIMIT, 0);
            scratch.longest = longest;
            before
        })
    };
    assert_eq!(take(SHORT - 1), 0);
    assert!(take(SHORT) >= 4 * BUFFER_LIMIT, "short texts may keep what they have");
    assert!(take(0) <= BUFFER_LIMIT);
}
