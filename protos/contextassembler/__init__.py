"""
What callers install: protos, stubs and a small typed client.
"""
