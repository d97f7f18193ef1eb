"""Search, within a budget of seconds, for what the model leaves open.

In: a schedule's text, a function that builds one, a clock.  Out: the best schedule, kept for later.
"""
