"""Which components carry the gap?"""
