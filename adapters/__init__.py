"""
Adapters: the only place that knows the engines, models and tokenizers behind the ports.
"""
