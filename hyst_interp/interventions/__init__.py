"""What is changed inside: edits, the hook functions that carry them out, what they put in, and the plain sweep."""
