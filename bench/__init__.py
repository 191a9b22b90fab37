"""
Benches: they run the product's own parts and measure what comes out.
"""
