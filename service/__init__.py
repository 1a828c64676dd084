"""The HTTP service and the command line of tokd."""
