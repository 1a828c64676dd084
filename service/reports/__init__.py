"""What a training run is reported as, by the command and over HTTP: numbers, advice and charts."""
