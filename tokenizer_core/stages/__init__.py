"""The stages of a pipeline, field for field as in the kernel's ``config.rs``: frozen, checked when they are made."""
