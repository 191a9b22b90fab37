"""
A server that speaks Qdrant's protocol, for tests.
"""
