//! The number of characters that an expression can match: a look-behind goes back so far.

use fancy_regex::Expr;

/// The least and the most; `usize::MAX` if there is no bound.
pub(super) fn extent(expression: &Expr) -> (usize, usize) {
    match expression {
        Expr::Any { .. } | Expr::Delegate { .. } => (1, 1),
        Expr::Literal { val, .. } => {
            let characters = val.chars().count();
            (characters, characters)
        }
        Expr::GeneralNewline { .. } => (1, 2),
        Expr::Concat(parts) => parts
            .iter()
            .map(extent)
            .fold((0, 0), |(least, most), (low, high)| (least.saturating_add(low), most.saturating_add(high))),
        Expr::Alt(branches) => {
            let low = branches.iter().map(|branch| extent(branch).0).min();
            let high = branches.iter().map(|branch| extent(branch).1).max();
            (low.unwrap_or(0), high.unwrap_or(0))
        }
        Expr::Group(inner) => extent(inner),
        Expr::AtomicGroup(inner) => extent(inner),
        Expr::Repeat { child, lo, hi, .. } => {
            let (least, most) = extent(child);
            (least.saturating_mul(*lo), if most == 0 { 0 } else { most.saturating_mul(*hi) })
        }
        Expr::Backref { .. } => (0, usize::MAX),
        _ => (0, 0),
    }
}
