"""Does behaviour differ, and does the difference last?"""
