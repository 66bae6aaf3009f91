"""Optimizer or weights?"""
