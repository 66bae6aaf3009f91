"""Who carries the gap, and who only works together?"""
