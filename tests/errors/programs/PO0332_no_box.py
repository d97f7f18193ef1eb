from dataclasses import replace

from polyopt.schedule import source_schedule
from polyopt.transforms import parse_schedule
from tests.reading import read


def act():
    scop = read("for i in range(N):\n    B[i] = A[i]", "A[N]; B[N]")
    (copy,) = scop.statements
    endless = replace(copy, domain=copy.domain.universe(copy.domain.get_space()))
    parse_schedule(source_schedule(replace(scop, statements=(endless,))), "pack(A, i)")
