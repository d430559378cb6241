"""Methods, for `solve(problem, method)`.

Of our own: `Quartz` (Algorithm 1 of the paper), `Permuted`, `Accelerated`, `Newton`, and
`Automatic`, which chooses between them and is the default. The others are those that the paper
compares Quartz with [tbl:finalconclusion]; each follows its own source, on the same problems and
with the same certificate.
"""

from quartz.methods.accelerated import Accelerated
from quartz.methods.accprox_sdca import AccProxSDCA
from quartz.methods.apcg import APCG
from quartz.methods.asdca import ASDCA
from quartz.methods.automatic import Automatic
from quartz.methods.disdca import DisDCA
from quartz.methods.minibatch_sdca import MiniBatchSDCA
from quartz.methods.newton import Newton
from quartz.methods.permuted import Permuted
from quartz.methods.quartz import Quartz
from quartz.methods.saga import SAGA
from quartz.methods.sdca import IproxSDCA, ProxSDCA
from quartz.methods.spdc import SPDC
from quartz.methods.steps import Method, Steps

__all__ = [
    "APCG",
    "ASDCA",
    "SAGA",
    "SPDC",
    "AccProxSDCA",
    "Accelerated",
    "Automatic",
    "DisDCA",
    "IproxSDCA",
    "Method",
    "MiniBatchSDCA",
    "Newton",
    "Permuted",
    "ProxSDCA",
    "Quartz",
    "Steps",
]
