from pathlib import Path

import polyopt as po


def f(a):
    a[0] = 2.0


def act():
    imported = Path(__file__).read_text().replace("2.0", "1.0", 1)
    scope = {"__name__": "edited", "__file__": __file__}
    exec(compile(imported, __file__, "exec"), scope)
    po.kernel(scope["f"]).compile(po.f64[:])
