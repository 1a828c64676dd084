//! The values of a rendering: texts and numbers carry their origins, and `budget` is what all of it costs.

pub mod budget;
pub mod compare;
pub mod dict;
pub mod number;
pub mod repr;
pub mod size;
pub mod text;
pub mod value;
