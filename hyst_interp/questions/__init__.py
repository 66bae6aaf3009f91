"""The argument: a folder a question, in the report's order."""
