"""What adds up to the gap?"""
