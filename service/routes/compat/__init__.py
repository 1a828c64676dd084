"""Routes that speak as other servers do, one file for each of them, so that their clients need only another address."""
