"""
The gRPC edge: convert, call the core, convert back.
"""
