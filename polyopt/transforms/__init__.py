"""Transformation records: each changes a tree's structure; `Schedule.apply` judges the result."""

from polyopt.transforms.affine import Affine, Fusion
from polyopt.transforms.cut import Cut
from polyopt.transforms.diamond import Diamond
from polyopt.transforms.distribute import Distribute
from polyopt.transforms.fuse import Fuse
from polyopt.transforms.interchange import Interchange
from polyopt.transforms.pack import Pack
from polyopt.transforms.parallelize import Parallelize
from polyopt.transforms.peel import Peel
from polyopt.transforms.reorder import Reorder
from polyopt.transforms.reverse import Reverse
from polyopt.transforms.separate import Separate
from polyopt.transforms.shift import Shift
from polyopt.transforms.sink import Sink
from polyopt.transforms.skew import Skew
from polyopt.transforms.split import Split
from polyopt.transforms.strip import Strip
from polyopt.transforms.text import parse_schedule, parse_schedules, parse_steps, show_schedules
from polyopt.transforms.tile import Tile
from polyopt.transforms.unroll import Unroll
from polyopt.transforms.vectorize import Vectorize

__all__ = [
    "Affine",
    "Cut",
    "Diamond",
    "Distribute",
    "Fuse",
    "Fusion",
    "Interchange",
    "Pack",
    "Parallelize",
    "Peel",
    "Reorder",
    "Reverse",
    "Separate",
    "Shift",
    "Sink",
    "Skew",
    "Split",
    "Strip",
    "Tile",
    "Unroll",
    "Vectorize",
    "parse_schedule",
    "parse_schedules",
    "parse_steps",
    "show_schedules",
]
