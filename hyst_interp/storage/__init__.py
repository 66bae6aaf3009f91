"""Files: manifests, checkpoints, results, trials, and the run directory. Whole or absent, and the same bytes again."""
