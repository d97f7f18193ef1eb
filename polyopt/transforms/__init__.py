"""Transformation records: each changes a tree's structure; `Schedule.apply` checks it.

Modules name the steps that few schedules have by the package, `transforms.Deal`: imported on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.transforms import repair_band as repair_band
    from polyopt.transforms import repair_parallel as repair_parallel
    from polyopt.transforms import repair_shift as repair_shift
    from polyopt.transforms.affine import Affine as Affine
    from polyopt.transforms.affine import Fusion as Fusion
    from polyopt.transforms.amount import Amount as Amount
    from polyopt.transforms.amount import Distance as Distance
    from polyopt.transforms.amount import read_amount as read_amount
    from polyopt.transforms.arguments import Arguments as Arguments
    from polyopt.transforms.atomic import Atomic as Atomic
    from polyopt.transforms.clone import Clone as Clone
    from polyopt.transforms.combine import Combine as Combine
    from polyopt.transforms.contract import Contract as Contract
    from polyopt.transforms.cut import Cut as Cut
    from polyopt.transforms.deal import Deal as Deal
    from polyopt.transforms.diamond import Diamond as Diamond
    from polyopt.transforms.distribute import Distribute as Distribute
    from polyopt.transforms.embed import Embed as Embed
    from polyopt.transforms.expand import Expand as Expand
    from polyopt.transforms.finish import Finish as Finish
    from polyopt.transforms.fuse import Fuse as Fuse
    from polyopt.transforms.hold import Hold as Hold
    from polyopt.transforms.interchange import Interchange as Interchange
    from polyopt.transforms.layout import Dimension as Dimension
    from polyopt.transforms.layout import LayOut as LayOut
    from polyopt.transforms.layout import Part as Part
    from polyopt.transforms.layout import read_dimension as read_dimension
    from polyopt.transforms.library import Library as Library
    from polyopt.transforms.mapping import Grid as Grid
    from polyopt.transforms.mapping import Threads as Threads
    from polyopt.transforms.marks import Parallelize as Parallelize
    from polyopt.transforms.marks import Unroll as Unroll
    from polyopt.transforms.marks import Vectorize as Vectorize
    from polyopt.transforms.mirror import Mirror as Mirror
    from polyopt.transforms.move import Move as Move
    from polyopt.transforms.online import Online as Online
    from polyopt.transforms.overlap import Overlap as Overlap
    from polyopt.transforms.pack import Pack as Pack
    from polyopt.transforms.peel import Peel as Peel
    from polyopt.transforms.pipeline import Pipeline as Pipeline
    from polyopt.transforms.rearrange import Rearrange as Rearrange
    from polyopt.transforms.recompute import Recompute as Recompute
    from polyopt.transforms.reorder import Reorder as Reorder
    from polyopt.transforms.reverse import Reverse as Reverse
    from polyopt.transforms.rfactor import Rfactor as Rfactor
    from polyopt.transforms.scan import Scan as Scan
    from polyopt.transforms.separate import Separate as Separate
    from polyopt.transforms.shard import Replicate as Replicate
    from polyopt.transforms.shard import Shard as Shard
    from polyopt.transforms.shift import Shift as Shift
    from polyopt.transforms.sink import Sink as Sink
    from polyopt.transforms.skew import Skew as Skew
    from polyopt.transforms.split import Split as Split
    from polyopt.transforms.strip import Strip as Strip
    from polyopt.transforms.swizzle import Swizzle as Swizzle
    from polyopt.transforms.tensorize import Tensorize as Tensorize
    from polyopt.transforms.text import check_text as check_text
    from polyopt.transforms.text import parse_schedule as parse_schedule
    from polyopt.transforms.text import parse_schedules as parse_schedules
    from polyopt.transforms.text import parse_steps as parse_steps
    from polyopt.transforms.text import refuse_mapped as refuse_mapped
    from polyopt.transforms.text import show_schedules as show_schedules
    from polyopt.transforms.tile import Tile as Tile
    from polyopt.transforms.version import Bound as Bound
    from polyopt.transforms.version import Version as Version
else:
    __getattr__ = names_of(__name__)
