import pytest

import polyopt as po
from polyopt.proof import Certificate, Claim, ClaimKind, Verdict


@po.kernel(schedule="source")
def f(a: po.f64["N"]):
    for i in range(a.shape[0]):
        a[i] += 1.0


def nothing(program, loops):
    claim = Claim(ClaimKind.ORDER, "loop i", Verdict.OPEN, "", "two iterations change places")
    return Certificate(program.name, (claim,))


def act():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyopt.proving.certify", nothing)
        f.compile()
