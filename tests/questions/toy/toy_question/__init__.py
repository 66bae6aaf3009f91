"""A question of another package: how wide do the margins of both histories scatter?"""
