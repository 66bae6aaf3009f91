"""Is it the same circuit, and how strongly is it engaged?"""
