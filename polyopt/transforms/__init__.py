"""Transformation records: each changes a tree's structure; `Schedule.apply` checks it.

Modules name the steps that few schedules have by the package, `transforms.Deal`: imported on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.transforms import repair_band, repair_parallel, repair_shift
    from polyopt.transforms.affine import Affine, Fusion
    from polyopt.transforms.amount import Amount, Distance, read_amount
    from polyopt.transforms.arguments import Arguments
    from polyopt.transforms.atomic import Atomic
    from polyopt.transforms.combine import Combine
    from polyopt.transforms.contract import Contract
    from polyopt.transforms.cut import Cut
    from polyopt.transforms.deal import Deal
    from polyopt.transforms.diamond import Diamond
    from polyopt.transforms.distribute import Distribute
    from polyopt.transforms.embed import Embed
    from polyopt.transforms.expand import Expand
    from polyopt.transforms.finish import Finish
    from polyopt.transforms.fuse import Fuse
    from polyopt.transforms.grid import Grid
    from polyopt.transforms.hold import Hold
    from polyopt.transforms.interchange import Interchange
    from polyopt.transforms.layout import Dimension, LayOut, Part, read_dimension
    from polyopt.transforms.move import Move
    from polyopt.transforms.overlap import Overlap
    from polyopt.transforms.pack import Pack
    from polyopt.transforms.parallelize import Parallelize
    from polyopt.transforms.peel import Peel
    from polyopt.transforms.pipeline import Pipeline
    from polyopt.transforms.rearrange import Rearrange
    from polyopt.transforms.recompute import Recompute
    from polyopt.transforms.reorder import Reorder
    from polyopt.transforms.reverse import Reverse
    from polyopt.transforms.rfactor import Rfactor
    from polyopt.transforms.scan import Scan
    from polyopt.transforms.separate import Separate
    from polyopt.transforms.shift import Shift
    from polyopt.transforms.sink import Sink
    from polyopt.transforms.skew import Skew
    from polyopt.transforms.split import Split
    from polyopt.transforms.strip import Strip
    from polyopt.transforms.swizzle import Swizzle
    from polyopt.transforms.tensorize import Tensorize
    from polyopt.transforms.text import (
        check_text,
        parse_schedule,
        parse_schedules,
        parse_steps,
        show_schedules,
    )
    from polyopt.transforms.threads import Threads
    from polyopt.transforms.tile import Tile
    from polyopt.transforms.unroll import Unroll
    from polyopt.transforms.vectorize import Vectorize
    from polyopt.transforms.version import Bound, Version
else:
    __getattr__ = names_of(
        __name__,
        {
            "affine": "Affine Fusion",
            "amount": "Amount Distance read_amount",
            "arguments": "Arguments",
            "atomic": "Atomic",
            "combine": "Combine",
            "contract": "Contract",
            "cut": "Cut",
            "deal": "Deal",
            "diamond": "Diamond",
            "distribute": "Distribute",
            "embed": "Embed",
            "expand": "Expand",
            "finish": "Finish",
            "fuse": "Fuse",
            "grid": "Grid",
            "hold": "Hold",
            "interchange": "Interchange",
            "layout": "Dimension LayOut Part read_dimension",
            "move": "Move",
            "overlap": "Overlap",
            "pack": "Pack",
            "parallelize": "Parallelize",
            "peel": "Peel",
            "pipeline": "Pipeline",
            "rearrange": "Rearrange",
            "recompute": "Recompute",
            "reorder": "Reorder",
            "repair_band": "",
            "repair_parallel": "",
            "repair_shift": "",
            "reverse": "Reverse",
            "rfactor": "Rfactor",
            "scan": "Scan",
            "separate": "Separate",
            "shift": "Shift",
            "sink": "Sink",
            "skew": "Skew",
            "split": "Split",
            "strip": "Strip",
            "swizzle": "Swizzle",
            "tensorize": "Tensorize",
            "text": """
                check_text parse_schedule parse_schedules parse_steps show_schedules
            """,
            "threads": "Threads",
            "tile": "Tile",
            "unroll": "Unroll",
            "vectorize": "Vectorize",
            "version": "Bound Version",
        },
    )

__all__ = [
    "Affine",
    "Amount",
    "Arguments",
    "Atomic",
    "Bound",
    "Combine",
    "Contract",
    "Cut",
    "Deal",
    "Diamond",
    "Dimension",
    "Distance",
    "Distribute",
    "Embed",
    "Expand",
    "Finish",
    "Fuse",
    "Fusion",
    "Grid",
    "Hold",
    "Interchange",
    "LayOut",
    "Move",
    "Overlap",
    "Pack",
    "Parallelize",
    "Part",
    "Peel",
    "Pipeline",
    "Rearrange",
    "Recompute",
    "Reorder",
    "Reverse",
    "Rfactor",
    "Scan",
    "Separate",
    "Shift",
    "Sink",
    "Skew",
    "Split",
    "Strip",
    "Swizzle",
    "Tensorize",
    "Threads",
    "Tile",
    "Unroll",
    "Vectorize",
    "Version",
    "check_text",
    "parse_schedule",
    "parse_schedules",
    "parse_steps",
    "read_amount",
    "read_dimension",
    "repair_band",
    "repair_parallel",
    "repair_shift",
    "show_schedules",
]
