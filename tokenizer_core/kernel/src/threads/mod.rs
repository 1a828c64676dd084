//! Work shared by threads that stay.

pub(crate) mod beside;
pub(crate) mod helpers;
pub(crate) mod standing;
