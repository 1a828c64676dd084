"""The stages of a pipeline, field for field as in the kernel's room ``config``."""
