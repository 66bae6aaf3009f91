"""Which weights?"""
