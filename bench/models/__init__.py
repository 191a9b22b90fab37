"""
Models for benches that come from packages, made into folders that the product serves.
"""
