"""Training: the kernel's trainer, the ladder beside it, corpora and the Python function."""
