"""The bodies of every request and answer, as they are checked and as they are documented."""
