"""Make the cookbook of schedules from its recipes.

In: a recipe.  Out: its program's schedules before and after the step, and the section on it.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from textwrap import fill

from docs.cookbook.drawing import Panel, cells, plane, runs, svg
from docs.cookbook.recipes import RECIPES, Recipe
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.pipeline import prepared
from polyopt.schedule import Schedule, source_schedule
from polyopt.targets import Options
from polyopt.transforms.text import STEPS, parse_steps

PAGE = Path(__file__).resolve().parent.parent / "cookbook.md"
PICTURES = Path(__file__).resolve().parent
WIDTH = 100
HEAD = """\
# Cookbook of schedules

Each step of the [schedule language](schedules.md) with a small program, its loops before and after
the step, and the order in which its iterations run. `python -m docs.cookbook` makes this page and
its pictures from real schedules.

In a picture every dot is an iteration; its place is given by the loops of the source. A line
follows the order of execution from the ring on. Parts in different colours may run at the same
time. A bar joins the lanes of a vector, or the iterations of a wavefront: these may run at the same
time, one wavefront after the other. A dotted line connects the blocks of a grid in the order of
their numbers. Pictures with time as an axis show the elements of an array: full dots are written,
pale dots are read.

"""


def schedules(recipe: Recipe) -> tuple[Schedule, Schedule]:
    """Return the schedules before and after the recipe's steps, each proven."""
    options = Options().changed({"fp": recipe.fp})
    program = prepared(build(recipe.program, infer_types(recipe.program)), options)
    before = source_schedule(program.scops[0]).apply(*parse_steps(recipe.prepare))
    return before, before.apply(*parse_steps(f"{recipe.step}; {recipe.then}"))


def picture(recipe: Recipe) -> str:
    """Return the picture of a recipe."""
    panels = tuple(
        _panel(recipe, title, schedule, array)
        for title, schedule, array in zip(
            ("before", "after"), schedules(recipe), recipe.cells, strict=True
        )
    )
    return svg(panels, f"iterations before and after {recipe.step}")


def _panel(recipe: Recipe, title: str, schedule: Schedule, array: str) -> Panel:
    found = runs(schedule, recipe.sizes)
    if array:
        return cells(title, found, schedule, array)
    return plane(title, found, recipe.across, recipe.down)


def section(recipe: Recipe) -> str:
    """Return what the page says about a recipe."""
    before, after = schedules(recipe)
    name = name_of(recipe)
    given = f"After {_written(recipe.prepare)} the loops are" if recipe.prepare else "The loops are"
    steps = _written(f"{recipe.step}; {recipe.then}")
    parts = (
        f"## {name}",
        fill(recipe.why, WIDTH),
        f"```python\n{inspect.getsource(recipe.program)}```",
        fill(given, WIDTH),
        f"```text\n{before}\n```",
        fill(f"and after {steps}", WIDTH),
        f"```text\n{after}\n```",
        f"![{recipe.step}](cookbook/{name}.svg)",
    )
    return "\n\n".join(parts) + "\n\n"


def name_of(recipe: Recipe) -> str:
    """Return the name of a recipe's step."""
    return recipe.step.partition("(")[0]


def _written(steps: str) -> str:
    """Return steps as they stand in a sentence."""
    return ", ".join(f"`{step}`" for step in parse_steps(steps))


def page() -> str:
    """Return the page."""
    given = {name_of(recipe): recipe for recipe in RECIPES}
    start = "```python\nimport numpy as np\n\nimport polyopt as po\n```\n\n"
    return HEAD + start + "".join(section(given[name]) for name in STEPS).rstrip() + "\n"


def write() -> None:
    """Write the page and the pictures."""
    PAGE.write_text(page(), encoding="utf-8")
    for recipe in RECIPES:
        (PICTURES / f"{name_of(recipe)}.svg").write_text(picture(recipe), encoding="utf-8")
