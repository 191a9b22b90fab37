"""
The core: pure, standard library only. `assemble.py` is the straight line through it.
"""
