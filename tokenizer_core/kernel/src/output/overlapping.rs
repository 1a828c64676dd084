//! The spans that share places with others.

/// Tell which spans share at least one place with a target; what is empty shares none.
pub fn overlapping(spans: &[[i64; 2]], mut targets: Vec<[i64; 2]>) -> Vec<bool> {
    targets.retain(|[start, end]| start < end);
    targets.sort_unstable();
    // Of all targets that begin before a span ends, the one that reaches furthest decides.
    let mut reach = i64::MIN;
    for target in &mut targets {
        reach = reach.max(target[1]);
        target[1] = reach;
    }
    let mut before = 0;
    let tell = |[start, end]: &[i64; 2]| {
        if before > 0 && targets[before - 1][0] >= *end {
            before = targets.partition_point(|target| target[0] < *end);
        }
        while targets.get(before).is_some_and(|target| target[0] < *end) {
            before += 1;
        }
        before > 0 && targets[before - 1][1] > *start && start < end
    };
    spans.iter().map(tell).collect()
}
