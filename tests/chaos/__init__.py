"""Chaos test: the real handler in processes that are killed and frozen, on an AWS that fails.

python -m chaos --tasks 1000 --faults 1000 --seed 1        (with tests/ on the path)
"""
