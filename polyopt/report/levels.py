"""How near a report looks at a kernel: names of the levels, the coarsest first."""

LEVELS = ("summary", "nest", "code", "assembly", "full")
