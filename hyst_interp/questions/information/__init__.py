"""Is it a mean, or information?"""
