from ethosgen.executorch.backend import EthosgenBackend as EthosgenBackend
from ethosgen.executorch.partitioner import EthosgenPartitioner as EthosgenPartitioner
from ethosgen.executorch.saving import to_project as to_project
from ethosgen.executorch.spec import EthosgenCompileSpec as EthosgenCompileSpec
from ethosgen.executorch.support import OperatorSupport as OperatorSupport
from ethosgen.executorch.support import support_report as support_report
