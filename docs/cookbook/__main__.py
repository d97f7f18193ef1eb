"""Write the cookbook of schedules: `python -m docs.cookbook`.

In: the recipes.  Out: docs/cookbook.md, and a picture for each step in docs/cookbook/.
"""

from __future__ import annotations

from docs.cookbook.making import write

write()
