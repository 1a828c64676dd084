"""The report of a training run, by the command and over HTTP: numbers, advice and charts."""
