"""
The quality bench: evidence in the context at a budget, ours and restated baselines on one index.
"""
