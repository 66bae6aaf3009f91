"""The stages of a study on an existing dask.distributed cluster: another executor, and what is checked before it works.

A cluster is refused while nothing has been written, when its workers would give other bytes than this process (another
version of what computes, more than one thread), or do not see the directory of the run. Workers that join later are
checked before each stage. A worker that dies costs only the stage that it was at: dask gives that to another one.

The executor is our own. dask's (`Client.get_executor()`, tried with distributed 2026.8) never ends a future whose
outcome cannot be fetched, so that a study would wait for ever; it calls a lost connection *cancelled*, which no caller
can tell from a cancellation of its own; and its `shutdown` knows no `cancel_futures`. Futures of ours around its own
would save ten lines, and wait for ever with them.

It starts no scheduler or worker, and stops none; it knows nothing of what a stage is. `distributed` is imported only
when a cluster is asked for (the extra `cluster`).
"""

import logging
import os
import platform
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, InvalidStateError
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hyst_interp.errors import UserError

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as RemoteFuture

ADDRESS = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
CONNECT = 10.0
"""Seconds to wait for a scheduler."""
PATIENCE = 300.0
"""Seconds that a cluster may be without any worker."""
PACKAGES = ("hyst-interp", "torch", "transformer-lens", "numpy", "safetensors", "h5py", "h5netcdf", "xarray")
"""What computes the numbers and writes the files: the versions of a run's bytes, with Python's own."""
AGAIN = "run the command again with --resume"


def check_address(text: str) -> str:
    """The address of a scheduler, `tcp://host:port` (or `tls://`); UserError for anything else."""
    parsed = ADDRESS.fullmatch(text)
    if parsed is None or not 0 < int(parsed[3]) < 65536:
        raise UserError(
            f"--cluster '{text}' is no address of a scheduler; write tcp://host:port, as 'dask scheduler' prints it."
        )
    return text


def versions() -> dict[str, str]:
    """Python and the packages that a run's bytes depend on, by name; local suffixes such as `+cpu` left out."""
    by_name = {"python": ".".join(platform.python_version_tuple()[:2])}
    return by_name | {name: metadata.version(name).split("+")[0] for name in PACKAGES}


@contextmanager
def cluster(address: str, root: Path, patience: float = PATIENCE) -> Iterator[Executor]:
    """An executor on the cluster whose scheduler listens at `address`, for stages that write below `root`.

    `root` need not exist yet: then the directory that it will stand in is what workers must see. What has not been
    done when the block ends is cancelled; stages under way end by themselves. `patience` is how long, in seconds, the
    cluster may be without any worker before the stages that wait fail.

    Raises:
        UserError: the extra is missing, no scheduler answers, or the cluster is not fit for the work.
    """
    check_address(address)
    try:
        import distributed
    except ImportError:
        raise UserError("--cluster needs the extra 'cluster'; pip install 'hyst-interp[cluster]'.") from None
    with _quiet():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                client = distributed.Client(address, timeout=CONNECT, set_as_default=False, name="hyst-interp")
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise UserError(
                f"no scheduler of a dask cluster answers at '{address}' ({_short(reason)}); start one with"
                " 'dask scheduler', and pass the address that it prints."
            ) from None
        try:
            check_workers(client, address)
            check_directory(client, root)
            executor = ClusterExecutor(client, address, patience)
            try:
                yield executor
            finally:
                executor.shutdown(wait=False, cancel_futures=True)
        finally:
            client.close()


def check_workers(client: "Client", address: str) -> None:
    """UserError where there are no workers, or one that cannot give this process's bytes."""
    threads: Any = client.nthreads()
    if not threads:
        raise UserError(
            f"the cluster at '{address}' has no workers; start some with 'dask worker {address} --nthreads 1'."
        )
    for worker, number in sorted(threads.items()):
        _refuse_threads(worker, number)
    wanted = versions()
    worker_versions: dict[str, dict[str, Any]] = {worker: {} for worker in threads}
    # Functions of Python itself: a worker need not have this package to answer.
    for worker, parts in _ask(client, platform.python_version_tuple).items():
        worker_versions.setdefault(worker, {})["python"] = ".".join(parts[:2]) if isinstance(parts, tuple) else parts
    for name in PACKAGES:
        for worker, version in _ask(client, metadata.version, name).items():
            worker_versions.setdefault(worker, {})[name] = version.split("+")[0] if isinstance(version, str) else None
    for worker, have in sorted(worker_versions.items()):
        _refuse_versions(worker, have, wanted)


def check_directory(client: "Client", root: Path) -> None:
    """UserError where a worker does not see, or cannot write to, the run's directory (or the one it will be in)."""
    root = root.absolute()
    directory = next(path for path in (root, *root.parents) if path.is_dir())
    token, secret = directory / f".cluster.{uuid4().hex}.part", uuid4().hex
    try:
        token.write_text(secret, "utf-8")
        seen = _ask(client, token.read_text, "utf-8")
        writable = _ask(client, os.access, str(directory), os.W_OK)
    finally:
        token.unlink(missing_ok=True)
    for worker in sorted(seen):
        if seen[worker] != secret:
            raise UserError(
                f"worker '{worker}' does not see '{directory}' of this machine; put the run on a file system that all"
                " workers share, and name it with --out."
            )
        if writable.get(worker) is not True:
            raise UserError(
                f"worker '{worker}' cannot write to '{directory}'; start it as a user who may, or pass another --out."
            )


def _ask(client: "Client", fn: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What `fn` gives on every worker, by its address; an exception where it raises one."""
    run: Any = client.run  # a coroutine only of a client that is asynchronous
    return run(fn, *args, on_error="return")


def _refuse_threads(worker: str, number: int) -> None:
    if number != 1:
        raise UserError(
            f"worker '{worker}' has {number} threads, and two stages in one process would share torch's own; start"
            " workers with --nthreads 1."
        )


def _refuse_versions(worker: str, found: Mapping[str, Any], wanted: Mapping[str, str]) -> None:
    for name, version in wanted.items():
        there = found.get(name)
        if there != version:
            have = f"{name} {there}" if isinstance(there, str) else f"no {name}"
            raise UserError(
                f"worker '{worker}' has {have}, this process has {name} {version}, and their bytes may differ; start"
                " workers from the same environment."
            )


def _on_worker(wanted: Mapping[str, str], fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run `fn` where this is called, on a worker that may have joined after the check of all."""
    from distributed import get_worker

    worker = get_worker()
    _refuse_threads(worker.address, worker.state.nthreads)
    _refuse_versions(worker.address, versions(), wanted)
    for path in args:
        if isinstance(path, Path) and not path.is_dir():
            raise UserError(
                f"worker '{worker.address}' does not see '{path}'; start workers where the run's file system is"
                " mounted."
            )
    return fn(*args, **kwargs)


class ClusterExecutor(Executor):
    """`concurrent.futures` on a dask client. Every call is a task of its own: none is merged with another by its key.

    Paths among the arguments are directories that workers must see; they become absolute, because workers stand in
    other directories. What becomes of the cluster itself (a task whose workers died, a lost scheduler, no worker for
    long) ends a future with a UserError.
    """

    def __init__(self, client: "Client", address: str, patience: float = PATIENCE) -> None:
        self._client = client
        self._address = address
        self._pending: dict[Future, RemoteFuture] = {}
        self._ended = threading.Event()
        self._wanted = versions()
        threading.Thread(target=self._watch, args=(patience,), name="hyst-interp-cluster", daemon=True).start()

    def submit(self, fn, /, *args, **kwargs):
        """Send one call to the cluster; the future is pending until it is done there."""
        args = tuple(arg.absolute() if isinstance(arg, Path) else arg for arg in args)
        key = f"{getattr(fn, '__name__', 'call')}-{uuid4().hex}"
        future: Future = Future()
        try:
            remote = self._client.submit(_on_worker, self._wanted, fn, args, kwargs, key=key, pure=False)
        except Exception:
            if self._client.status == "running":
                raise
            future.set_exception(self._lost())
            return future
        self._pending[future] = remote
        future.add_done_callback(self._forget)
        remote.add_done_callback(lambda ended: self._settle(future, ended))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what is pending where asked to; the cluster itself goes on."""
        pending = list(self._pending)
        for future in pending if cancel_futures else ():
            future.cancel()
        if wait:
            wait_for([future for future in pending if not future.cancelled()])
        self._ended.set()

    def _settle(self, future: Future, remote: "RemoteFuture") -> None:
        """Give a future the outcome of its task; dask calls this on a thread of its own."""
        from distributed import KilledWorker

        value: Any = None
        error: Any = None
        try:
            if remote.status == "cancelled":
                error = self._lost()
            elif remote.status == "error":
                error = remote.exception()
                if isinstance(error, KilledWorker):
                    error = UserError(
                        f"{error.allowed_failures + 1} workers were killed at the same stage, the last one"
                        f" '{error.last_worker.address}'; look at its log (was there enough memory?), and {AGAIN}."
                    )
            else:
                value = remote.result()
        except Exception as fault:  # the outcome could not be fetched
            error = fault if self._client.status == "running" else self._lost()
        self._end(future, value, error)

    @staticmethod
    def _end(future: Future, value: Any, error: BaseException | None) -> None:
        with suppress(InvalidStateError):  # it was cancelled, or has ended another way
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

    def _forget(self, future: Future) -> None:
        remote = self._pending.pop(future, None)
        if future.cancelled() and remote is not None and self._client.status == "running":
            remote.cancel()

    def _lost(self) -> UserError:
        return UserError(f"the connection to the cluster at '{self._address}' was lost; {AGAIN}.")

    def _watch(self, patience: float) -> None:
        """Fail what is pending when the scheduler has gone, or has had no worker for `patience` seconds."""
        step, alone = min(5.0, patience / 4), 0.0
        while not self._ended.wait(step):
            error: UserError | None = None
            try:
                alone = 0.0 if self._client.nthreads() else alone + step
            except Exception:  # whatever it is: without its scheduler nothing goes on
                if self._client.status != "running":
                    error = self._lost()
            if alone >= patience:
                error = UserError(
                    f"the cluster at '{self._address}' has had no worker for {alone:.0f} seconds; start some with"
                    f" 'dask worker {self._address} --nthreads 1', and {AGAIN}."
                )
            if error is not None:
                for future in list(self._pending):
                    self._end(future, None, error)


def _short(text: str, width: int = 120) -> str:
    """A foreign message as a part of our sentence."""
    text = re.sub(r"[.!?]\s", ", ", text)
    return text if len(text) <= width else text[: width - 1] + "…"


@contextmanager
def _quiet() -> Iterator[None]:
    """dask's own loggers say nothing: what the user must know is in our sentences."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")]
    before = {name: logging.getLogger(name).level for name in {*names, "distributed", "tornado"}}
    for name in before:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
