"""The standing list of refused steps: programs, steps, what the refusal says and offers."""
