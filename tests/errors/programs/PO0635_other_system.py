import platform

from polyopt.ir.source import Signature, Source
from polyopt.loading import Facts, _require_fit


def act():
    signature = Signature("scaled", (), (), (), (), "N", ())
    source = Source("c", "polyopt_scaled", "", "", (), signature, False, False)
    facts = Facts(source, (), platform.system(), platform.machine(), ("avx9999",), "0.1.0")
    _require_fit(facts, b"", "scaled.po")
