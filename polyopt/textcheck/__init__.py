"""C text judged as it stands: bounds, races of parallel loops, width of index arithmetic.

In: C text, whoever wrote it.  Out: verdicts with examples.  Nothing of the emitters is used.
"""

from polyopt.textcheck.judging import judge_text

__all__ = ["judge_text"]
