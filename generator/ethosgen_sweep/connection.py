"""Connects to dask's scheduler elsewhere, or starts one with workers on this machine."""

import asyncio
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ethosgen.host.extras import EXTRAS
from ethosgen.values.errors import InputError
from ethosgen_sweep.cluster import Cluster

_CONNECT_S = 20
_LOST_WORKER = "1d"
"""dask gives up a worker of this machine for ever that is not there this long after a death, even
if it died twice; after its default of 15 s, a sweep on a busy machine had none left."""


def require_dask() -> None:
    """Raise ToolError if a package that every sweep needs is missing."""
    EXTRAS["sweep"].require("a sweep", "distributed", "pyarrow")


@contextmanager
def connected(scheduler: str | None, workers: int) -> Iterator[Cluster]:
    """Yield a connection to a scheduler by its address, or else to workers on this machine.

    InputError if no scheduler answers at the address.
    """
    _quieten()
    if scheduler is None:
        with _local(workers) as cluster:
            yield cluster
        return
    from distributed import Client

    _require_scheduler(scheduler)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages whose versions differ: workers check ours
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    with client:
        yield Cluster(client, scheduler)


def _require_scheduler(address: str) -> None:
    """Raise InputError if no scheduler of dask answers at an address.

    A client waits forever for anything but a scheduler, and then cannot be closed.
    """
    try:
        kind = asyncio.run(asyncio.wait_for(_kind_at(address), _CONNECT_S))
    except TimeoutError:
        why = f"no answer within {_CONNECT_S} s"
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        why = str(error) or type(error).__name__
    else:
        if kind == "Scheduler":
            return
        why = f"it is a {kind.lower()} of dask's"
    raise InputError(
        f"no scheduler of dask answers at '{address}' ({why}); start one with 'dask scheduler', "
        "and pass the address that it prints"
    )


async def _kind_at(address: str) -> str:
    """Return the type of a server of dask: Scheduler, Worker or Nanny."""
    from distributed import rpc
    from distributed.security import Security

    options = Security().get_connection_args("client")
    async with rpc(address, connection_args=options, timeout=_CONNECT_S) as server:
        return str((await server.identity())["type"])


def _quieten() -> None:
    """Silence dask's log unless the user requested logs: a worker's death is routine here.

    Its loggers get their own level at the import.
    """
    import distributed

    if not logging.getLogger().isEnabledFor(logging.INFO):
        for name in [logger for logger in logging.Logger.manager.loggerDict if _is_dask(logger)]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        logging.getLogger(distributed.__name__).setLevel(logging.CRITICAL)


def _is_dask(logger: str) -> bool:
    return logger.split(".", maxsplit=1)[0] in ("bokeh", "dask", "distributed", "tornado")


@contextmanager
def _local(workers: int) -> Iterator[Cluster]:
    """Yield workers on this machine, a process each, that no other machine can reach."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": _LOST_WORKER}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield Cluster(client, cluster.scheduler_address)
