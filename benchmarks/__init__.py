"""How fast, against whom, and with the same results: `python -m benchmarks` (or `make bench`)."""
