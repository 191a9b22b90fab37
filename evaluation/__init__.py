"""
Measures of contexts against evidence that is known by position: question sets, measures, intervals.
"""
