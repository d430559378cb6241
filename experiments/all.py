"""All experiments by name."""

from experiments.base import Experiment
from experiments.batch import Batch
from experiments.beyond import Beyond
from experiments.compared import Methods
from experiments.contours import Contours
from experiments.data_table import DataTable
from experiments.distributed import Distributed
from experiments.features import Features
from experiments.gaps import Gaps
from experiments.importance import Importance
from experiments.regimes import Regimes
from experiments.speedup import Speedup
from experiments.tables import Tables

_LIST: list[Experiment] = [
    DataTable(),
    Tables(),
    Features(),
    Speedup(),
    Contours(),
    Importance(),
    Batch(),
    Distributed(),
    Beyond(),
    Gaps(),
    Methods(),
    Regimes(),
]
EXPERIMENTS = {experiment.name: experiment for experiment in _LIST}
