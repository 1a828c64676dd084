"""Jobs that train and that encode: the interface for routes, the lease table in SQLite or Postgres, and the worker."""
