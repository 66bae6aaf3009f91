"""The report: what a run found, beside what the paper says, on one page that opens without a network."""
