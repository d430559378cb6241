"""All experiments by name."""

from quartz.experiments.base import Experiment
from quartz.experiments.batch import Batch
from quartz.experiments.beyond import Beyond
from quartz.experiments.compared import Methods
from quartz.experiments.contours import Contours
from quartz.experiments.data_table import DataTable
from quartz.experiments.distributed import Distributed
from quartz.experiments.features import Features
from quartz.experiments.gaps import Gaps
from quartz.experiments.importance import Importance
from quartz.experiments.regimes import Regimes
from quartz.experiments.speedup import Speedup
from quartz.experiments.tables import Tables

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
