"""What must hold before a release, goal by goal: `python -m tests.gates`.

In: goals, a stage.  Out: a figure a goal, kept in a state file and printed as one table.
"""
