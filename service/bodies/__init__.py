"""What callers send: which form it has, what it says, and what is wrong with it."""
