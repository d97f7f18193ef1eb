import polyopt as po
from polyopt.building import compile_stages
from polyopt.exporting.kernels import exported
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.targets import Options


def f(x: po.f64["N"]):
    return x[x > 0.5]


def act():
    stages = compile_stages(f, infer_types(f), Options(target=po.Target.CUDA))
    exported("f", [(stages.program, stages)])
