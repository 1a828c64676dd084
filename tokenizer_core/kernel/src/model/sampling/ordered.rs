//! A set of numbers that knows which is the n-th, in buckets of a bounded size.

use crate::model::bpe::heap::OpenPairs;

/// Numbers of a full bucket, which then becomes two.
const FULL: usize = 1024;

/// Numbers in order, none twice. All steps but [`Self::nth`] of a large `n` take about as long as a look-up.
#[derive(Debug, Default)]
pub struct Ordered {
    /// None is empty.
    buckets: Vec<Vec<u64>>,
}

impl OpenPairs for Ordered {
    fn fill(&mut self, numbers: impl Iterator<Item = u64>) {
        let mut all: Vec<u64> = self.buckets.pop().unwrap_or_default();
        all.clear();
        all.extend(numbers);
        all.sort_unstable();
        self.buckets.clear();
        if all.len() <= FULL {
            self.buckets.extend((!all.is_empty()).then_some(all));
        } else {
            self.buckets.extend(all.chunks(FULL / 2).map(<[u64]>::to_vec));
        }
    }

    fn insert(&mut self, number: u64) {
        let at = self.bucket_of(number).min(self.buckets.len().saturating_sub(1));
        let Some(bucket) = self.buckets.get_mut(at) else {
            self.buckets.push(vec![number]);
            return;
        };
        let place = bucket.partition_point(|other| *other < number);
        bucket.insert(place, number);
        if bucket.len() > FULL {
            let upper = bucket.split_off(FULL / 2);
            self.buckets.insert(at + 1, upper);
        }
    }

    fn remove(&mut self, number: u64) {
        let at = self.bucket_of(number);
        let Some(bucket) = self.buckets.get_mut(at) else { return };
        if let Ok(place) = bucket.binary_search(&number) {
            bucket.remove(place);
            if bucket.is_empty() {
                self.buckets.remove(at);
            }
        }
    }

    fn shrink(&mut self, entries: usize) {
        self.buckets.clear();
        self.buckets.shrink_to(entries / FULL);
    }
}

impl Ordered {
    /// The number with so many smaller ones.
    pub fn nth(&self, mut smaller: usize) -> Option<u64> {
        for bucket in &self.buckets {
            match bucket.get(smaller) {
                Some(number) => return Some(*number),
                None => smaller -= bucket.len(),
            }
        }
        None
    }

    /// The first bucket that does not end before a number.
    fn bucket_of(&self, number: u64) -> usize {
        self.buckets.partition_point(|bucket| bucket.last().is_some_and(|last| *last < number))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_sorted_set(
            first in prop::collection::btree_set(0_u64..5000, 0..4000),
            steps in prop::collection::vec(0_u64..5000, 0..3000),
        ) {
            let (mut ours, mut truth) = (Ordered::default(), first.clone());
            ours.fill(first.into_iter());
            for (at, number) in steps.into_iter().enumerate() {
                if truth.remove(&number) { ours.remove(number) } else { truth.insert(number); ours.insert(number) }
                if at % 500 == 0 { check(&ours, &truth)?; }
            }
            check(&ours, &truth)?;
        }
    }

    fn check(ours: &Ordered, truth: &BTreeSet<u64>) -> Result<(), TestCaseError> {
        let all: Vec<_> = (0..).map_while(|at| ours.nth(at)).collect();
        prop_assert_eq!(all, truth.iter().copied().collect::<Vec<_>>());
        Ok(())
    }
}
