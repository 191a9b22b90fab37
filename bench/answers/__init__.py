"""
Does evidence in the context help an answer? Any OpenAI-compatible endpoint answers and judges.
"""
