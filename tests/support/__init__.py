"""What several folders of tests share: servers, connections, tokenizers, corpora, Postgres, waiting."""
