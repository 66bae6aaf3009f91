"""A whole study as stages: planned purely, executed on any executor, resumed where it was interrupted."""
