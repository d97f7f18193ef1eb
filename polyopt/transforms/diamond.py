"""Diamond: tile time and space so that a whole front of tiles starts at once.

In: a band whose first loop is time, over the loops of space.  Out: the same nest inside a band of
tile loops: fronts of diamonds, the diamonds of a front, tiles of further space loops.
Refuses: a nest without two hyperplanes that every dependence crosses forwards.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import dependences_of
from polyopt.schedule.sizes import Size
from polyopt.schedule.skewing import permuting_factors
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Leaf,
    Sequence,
    Tree,
    find_band,
    fresh_label,
    path_to,
    replace_band,
)
from polyopt.transforms.tile import checked_sizes, tile_index
from polyopt.transforms.written import Written

MAX_SLOPE = 16


@dataclass(frozen=True, slots=True)
class Diamond(Written):
    """Tile the time loop of `band` and the first loop of space by diamonds, others by strips.

    With `s` the first loop of space and `t` the time, counted in parts of the body where it has
    several, tiles are `floor((a*t + s) / size)` by `floor((b*t - s) / size)`, for the smallest `a`
    and `b` with which no dependence points out of a tile backwards.  `L0.tile[0]` counts fronts,
    the sums of the two; the diamonds of a front, `L0.tile[1]`, depend on earlier fronts only, and
    the first front holds as many as the last: start and end are as parallel as the middle.  A
    further size tiles the next loop of space along `s + c*t`.  Inside a tile the nest is as it
    was, its band called `L0.point` (Bondhugula, Bandishti, Pananilath, "Diamond tiling: tiling
    techniques to maximize parallelism for stencil computations", 2017).
    """

    band: str
    sizes: tuple[Size, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tiled tree; raises `ScheduleError` PO0301, PO0303, PO0306, PO0328."""
        band = find_band(tree, self.band)
        sizes = checked_sizes(self.sizes, str(self))
        path, domain = path_to(tree, scop, self.band)
        time, space = self._loops(band, domain)
        if not 1 <= len(sizes) <= len(space):
            raise ScheduleError(
                "PO0303",
                f"{self}: {len(space)} loops of space, {len(sizes)} sizes were given",
                hint="give one size for time and the first loop of space, one for each further",
            )
        pairs = _pairs(scop, domain, path)
        ahead, behind = self._slopes(pairs, time, space[0], band)
        one = tile_index(_sum(time, ahead, space[0].schedule), sizes[0])
        two = tile_index(_sum(time, behind, space[0].schedule.neg()), sizes[0])
        tiles = [
            BandMember(one.add(two), f"{band.members[0].name}_tile"),
            BandMember(one, f"{space[0].name}_tile"),
        ]
        for member, size in zip(space[1:], sizes[1:], strict=False):
            slope = self._slope(pairs, time, member.schedule, member.name, band)
            tile = tile_index(_sum(time, slope, member.schedule), size)
            tiles.append(BandMember(tile, f"{member.name}_tile"))
        outer = fresh_label(tree, f"{self.band}.tile")
        inner = fresh_label(tree, f"{self.band}.point")
        return replace_band(
            tree, band.label, lambda old: Band(outer, tuple(tiles), replace(old, label=inner))
        )

    def _loops(
        self, band: Band, domain: isl.UnionSet
    ) -> tuple[isl.UnionPwAff, tuple[BandMember, ...]]:
        """Return time, in parts of the body, and the loops of space."""
        first, *others = band.members
        if others:
            return _in_parts(first, _parts(band.child, domain)), tuple(others)
        match band.child:
            case Band() as inner:
                return _in_parts(first, _parts(inner.child, domain)), inner.members
            case Sequence() as body:
                return _in_parts(first, _parts(body, domain)), self._joint(body, domain)
            case Filter() | Leaf():
                raise self._too_few(first.name)

    def _joint(self, body: Sequence, domain: isl.UnionSet) -> tuple[BandMember, ...]:
        """Return the loops that all parts of a body have, each as one over all of them."""
        bands = [part.child for part in body.parts if isinstance(part.child, Band)]
        if len(bands) < len(body.parts):
            raise self._too_few(f"part {_first_other(body)} of the body")
        result = []
        for position in range(min(len(band.members) for band in bands)):
            members = [band.members[position] for band in bands]
            first, *others = (
                member.schedule.intersect_domain(part.domain.intersect(domain))
                for member, part in zip(members, body.parts, strict=True)
            )
            for other in others:
                first = first.union_add(other)
            result.append(BandMember(first, members[0].name))
        return tuple(result)

    def _too_few(self, what: str) -> ScheduleError:
        return ScheduleError(
            "PO0306",
            f"{self}: {what} has no loop of space inside it",
            hint="name the band of the time loop; affine(min) first gives all statements its loops",
        )

    def _slopes(
        self, pairs: isl.UnionMap, time: isl.UnionPwAff, space: BandMember, band: Band
    ) -> tuple[int, int]:
        ahead = self._slope(pairs, time, space.schedule, space.name, band)
        behind = self._slope(pairs, time, space.schedule.neg(), space.name, band)
        if ahead + behind:
            return ahead, behind
        raise ScheduleError(
            "PO0328",
            f"{self}: no dependence moves along `{space.name}`, diamonds would be strips",
            hint=f"leave `{band.members[0].name}` alone and parallelize({space.name})",
        )

    def _slope(
        self,
        pairs: isl.UnionMap,
        time: isl.UnionPwAff,
        space: isl.UnionPwAff,
        name: str,
        band: Band,
    ) -> int:
        """Return the least `a` for which no dependence has a negative `a*time + space`."""
        for slope in range(MAX_SLOPE + 1):
            function = isl.MultiUnionPwAff.from_union_pw_aff(_sum(time, slope, space))
            if pairs.lex_gt_at_multi_union_pw_aff(function).is_empty():
                return slope
        raise ScheduleError(
            "PO0328",
            f"{self}: dependences along `{name}` are faster than {MAX_SLOPE} per step of time",
            hint=self._wavefront(band, pairs),
        )

    def _wavefront(self, band: Band, pairs: isl.UnionMap) -> str:
        """Return the steps that run tiles of the band as a wavefront, where that is legal."""
        factors = permuting_factors(band.members, pairs)
        count = len(band.members)
        if factors is None or count < 2:
            return "leave the step out: no step that was tried makes it legal"
        label = self.band
        skews = [f"skew({label}[{f.loop}], {label}[{f.by}], {f.factor})" for f in factors]
        fronts = [f"skew({label}.tile[0], {label}.tile[{n}], 1)" for n in range(1, count)]
        tile = f"tile({label}, {', '.join(['32'] * count)})"
        steps = "; ".join((*skews, tile, *fronts, f"parallelize({label}.tile[1])"))
        return f"tiles can run as a wavefront instead: {steps}"


def _sum(time: isl.UnionPwAff, slope: int, space: isl.UnionPwAff) -> isl.UnionPwAff:
    return space if slope == 0 else time.scale_val(isl.Val(slope)).add(space)


def _parts(body: Tree, domain: isl.UnionSet) -> list[isl.UnionSet]:
    """Return the instances of each part of a body."""
    if isinstance(body, Sequence):
        return [part.domain.intersect(domain) for part in body.parts]
    return [domain]


def _in_parts(time: BandMember, parts: list[isl.UnionSet]) -> isl.UnionPwAff:
    """Return `count * time + number of the part`."""
    position: isl.UnionPwAff | None = None
    for number, part in enumerate(parts):
        own = isl.UnionPwAff.val_on_domain(part, isl.Val(number))
        position = own if position is None else position.union_add(own)
    assert position is not None
    return time.schedule.scale_val(isl.Val(len(parts))).add(position)


def _pairs(scop: Scop, domain: isl.UnionSet, path: tuple[BandMember, ...]) -> isl.UnionMap:
    """Return the dependent pairs inside the nest, all loops above being equal."""
    pairs = dependences_of(scop).all.intersect_domain(domain).intersect_range(domain)
    for member in path:
        pairs = pairs.eq_at_multi_union_pw_aff(member.function)
    return pairs


def _first_other(body: Sequence) -> int:
    return next(n for n, part in enumerate(body.parts) if not isinstance(part.child, Band))
