//! Work shared by threads that stay.

pub(crate) mod helpers;
pub(crate) mod long_text;
pub(crate) mod spread;
pub(crate) mod standing;
