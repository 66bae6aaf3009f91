"""On which edges does it travel?"""
