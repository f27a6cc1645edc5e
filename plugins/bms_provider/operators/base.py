"""Base classes of the operators: connection, client, metrics, and what goes to XCom."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.sdk import BaseAsyncOperator

from bms.arguments import argument
from bms_provider import compat, files, flow_context, lineage, policy
from bms_provider.hooks.bms import BmsHook
from bms_provider.operators import export
from bms_provider.operators.declared import Declared
from bms_provider.operators.links import BmsBoardLink, BmsFileLink
from bms_provider.operators.selection import MAX_XCOM_BYTES, Selection, checked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence

    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import BaseOperatorLink, Context
    from upath import UPath

    from bms.client import Client
    from bms.endpoints import Endpoint
    from bms.responses import Detail, Rows
    from bms_provider.compat import RetryPolicy

log = logging.getLogger(__name__)

SERVICE_RETRIES = policy.ServiceRetryPolicy()

FOLDER = (
    f"{files.OPERATOR_FILES}/"
    "{{ dag.dag_id }}/{{ run_id | replace(':', '') | replace('+', '_') }}/"
    "{{ task.task_id }}{{ '-%d' % ti.map_index if ti.map_index >= 0 }}"
)
"""Path below the data root of the file of one task of one run; a retry replaces the file."""


class BmsOperator(Declared, BaseAsyncOperator):
    """Call one operation of the service.

    A task has at most as many requests in flight as the connection's ``concurrency``, with
    ``pool="bms_service"`` also at most ``pool_slots``.

    :param bms_conn_id: connection of type ``bms`` (templated).
    :param retry_policy: by default, temporary errors are retried up to ``retries`` times.
    """

    endpoint: ClassVar[Endpoint]
    """The operation; its parameters are templated arguments of the operator."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Argument of the operator by parameter, where the names differ."""
    creates: ClassVar[bool] = False
    """Whether the class sends a request at most once."""
    bms_conn_id: str = BmsHook.default_conn_name
    if TYPE_CHECKING:  # arguments of Airflow, whose attributes have other types
        dag: Any = None
        inlets: Any = None
        on_execute_callback: Any = None
        on_failure_callback: Any = None
        on_retry_callback: Any = None
        on_skipped_callback: Any = None
        on_success_callback: Any = None
        outlets: Any = None
        params: Any = None
        pool: Any = None
        retry_delay: Any = None
        task_display_name: Any = None
        trigger_rule: Any = None
    template_fields: Sequence[str] = ("bms_conn_id",)
    operator_extra_links: Collection[BaseOperatorLink] = (BmsBoardLink(),)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Template the parameters of the operation; refuse an operation that needs `BmsCreateOperator`."""
        super().__init_subclass__(**kwargs)
        if "endpoint" not in vars(cls):
            return
        if not (cls.endpoint.idempotent or cls.creates):
            raise TypeError(
                f"{cls.__name__}: derive an operator of {cls.endpoint} from BmsCreateOperator"
            )
        own = (cls.renamed.get(each.name, each.name) for each in cls.endpoint.params)
        cls.template_fields = tuple(dict.fromkeys([*cls.template_fields, *own]))

    def __init__(
        self,
        *,
        bms_conn_id: str = BmsHook.default_conn_name,
        retry_policy: RetryPolicy | None = SERVICE_RETRIES,
        **kwargs: Any,
    ) -> None:
        super().__init__(**compat.retry_arguments(retry_policy), **kwargs)
        self.bms_conn_id = bms_conn_id

    @cached_property
    def hook(self) -> BmsHook:
        """The hook of the operator's connection."""
        return BmsHook(self.bms_conn_id)

    def execute(self, context: Context) -> Any:
        """Read connection and settings, then run `call` in an event loop."""
        self.prepare()
        # An interruption ends Airflow's own `execute` with the call suspended and its file unfinished.
        limit = self.execution_timeout.total_seconds() if self.execution_timeout else None

        async def call() -> Any:
            async with asyncio.timeout(limit):
                return await self.aexecute(context)

        return asyncio.run(call())

    def prepare(self) -> None:
        """Read what Airflow stores; a synchronous request inside the event loop can deadlock."""
        _ = self.hook.settings

    async def aexecute(self, context: Context) -> Any:  # noqa: ARG002 - Airflow's signature
        """Open a client, call the operation, log its outcome, and emit metrics even after an error."""
        from bms.counters import Counters  # noqa: PLC0415 - with the client, not at import

        counters = Counters()
        try:
            async with self.hook.client(counters) as client:
                value = await self.call(client)
        finally:
            flow_context.emit(counters, self.endpoint.name)
        outcome = self.outcome(value)
        log.info("%s: %s; requests: %d", self.endpoint.name, outcome, counters.requests)
        return value

    async def call(self, client: Client) -> Any:
        """Call the operation and return the value for XCom."""
        raise NotImplementedError

    def arguments(self) -> dict[str, Any]:
        """Return the operation's arguments in the types that the client takes; raise `BadArgument`."""
        found = {}
        for each in self.endpoint.params:
            name = self.renamed.get(each.name, each.name)
            found[each.name] = argument(name, getattr(self, name), each.type)
        return found

    def outcome(self, value: Any) -> str:  # noqa: ARG002 - subclasses read it
        """Describe the value of `call` for the task's log, without personal data."""
        return "complete"


class BmsReadingOperator(BmsOperator):
    """Base of the operators that read: rows go to a file, or selected fields to XCom.

    :param path: file below ``BMS_DATA_ROOT`` (templated), compressed if its name ends in ``.gz``.
    :param output: ``"file"`` writes every field to the file, which ``bms_provider.files.read_df`` and
        ``read_rows`` read; ``"xcom"`` returns selected fields.
    :param fields: for ``output="xcom"``: a list of names returns dictionaries, a single name bare
        values, ready for ``expand()``. Accepts only identifiers and fields without personal data
        (`public` in `bms.records`). Amounts are text, with their exact digits.
    :param max_xcom_bytes: for ``output="xcom"``: the task fails if the JSON is longer.
    :return: to XCom: the manifest of the file, or the fields.
    """

    template_fields: Sequence[str] = (*BmsOperator.template_fields, "path")
    operator_extra_links: Collection[BaseOperatorLink] = (
        *BmsOperator.operator_extra_links,
        BmsFileLink(),
    )
    path: str
    fields: str | Sequence[str] | None = None
    max_xcom_bytes: int = MAX_XCOM_BYTES
    if TYPE_CHECKING:
        output: Any = "file"  # Airflow's own attribute, and the name of an argument
    rows_read: int | None = None
    """Rows that the task has read, for lineage; None before they are complete."""
    _call: asyncio.Task[Any] | None = None

    def __init__(
        self,
        *,
        path: str,
        output: Literal["file", "xcom"] = "file",
        fields: str | Iterable[str] | None = None,
        max_xcom_bytes: int = MAX_XCOM_BYTES,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.fields = checked(self.endpoint.name, output, fields)
        if output == "file" and self.get_closest_mapped_task_group() is not None:
            _require_own_file(path)
        self.path = path
        self.to_xcom = output == "xcom"  # `output` is Airflow's own attribute: the XComArg
        self.max_xcom_bytes = max_xcom_bytes

    @cached_property
    def target(self) -> UPath:
        """The file to write."""
        return files.below_root(self.path)

    def prepare(self) -> None:
        """Read the connection and attach the file system of the file."""
        super().prepare()
        if not self.to_xcom:
            _ = self.target

    @classmethod  # type: ignore[misc]  # Airflow declares an attribute
    def partial(cls, **kwargs: Any) -> Any:
        """Return the operator to be expanded; raise `ValueError` if its tasks would write one file."""
        if kwargs.get("output") != "xcom":
            _require_own_file(kwargs.get("path"))
        return super().partial(**kwargs)

    async def aexecute(self, context: Context) -> Any:
        """Call the operation until `on_kill` stops it."""
        self._call = asyncio.current_task()
        try:
            return await super().aexecute(context)
        finally:
            self._call = None

    def on_kill(self) -> None:
        """Stop reading and remove the incomplete file."""
        if self._call is not None:
            self._call.get_loop().call_soon_threadsafe(self._call.cancel)

    def selection(self) -> Selection | None:
        """Return an empty selection for XCom, None if the rows go to a file."""
        return Selection(self.fields, self.max_xcom_bytes) if self.fields else None

    def manifest(self, file: export.RowsFile) -> dict[str, Any]:
        """Return the manifest of the written file."""
        zone = self.hook.settings.time_zone
        return files.manifest(self.endpoint.name, zone, **file.summary())

    def outcome(self, value: Any) -> str:
        """Describe how many rows went where."""
        target = "returned through XCom" if self.to_xcom else f"written to {value['path']}"
        return f"rows: {self.rows_read}, {target}"

    def get_openlineage_facets_on_complete(
        self, _task_instance: Any
    ) -> OperatorLineage[Any, Any] | None:
        """Return the datasets of a completed task, with their rows, for OpenLineage."""
        if self.rows_read is None:
            return None
        target = None if self.to_xcom else self.target
        return lineage.read(self.endpoint, self.hook.settings.base_url, self.rows_read, target)


class BmsListOperator(BmsReadingOperator):
    """Base of the operators that read a list: a JSON object per line, in the service's order."""

    path: str = FOLDER + ".jsonl.gz"

    async def pages(self, client: Client) -> AsyncGenerator[Rows[Any], None]:
        """Yield the pages of the list; a list without pages is one."""
        yield await getattr(client, self.endpoint.name)(**self.arguments())

    async def call(self, client: Client) -> Any:
        """Read all pages; raise `InvalidRecords` if a row has no usable key or amount."""
        async with aclosing(self.pages(client)) as pages:
            if selection := self.selection():
                async for page in pages:
                    page.require_all()
                    selection.add(page.records)
                self.rows_read = len(selection.values)
                return selection.values
            with export.rows_file(self.target) as file:
                async for page in pages:
                    page.require_all()
                    await asyncio.to_thread(file.add, page.records, page.extra)
            manifest = self.manifest(file)
            self.rows_read = manifest["rows"]
            return manifest


class BmsPagesOperator(BmsListOperator):
    """Base of the operators that read a list on pages.

    :param page_size: records per page (templated); default: the connection's.
    """

    page_size: int | str | None = None

    def pages(self, client: Client) -> AsyncGenerator[Rows[Any], None]:
        """Yield all pages in order."""
        from bms.paging import all_pages  # noqa: PLC0415 - with the task, not at import

        read = getattr(client, self.endpoint.name)
        page = partial(read, page_size=self.page_size, **self.arguments())
        return all_pages(lambda number: page(page_number=number))


class BmsReadOperator(BmsReadingOperator):
    """Base of the operators that read one record: one JSON object."""

    path: str = FOLDER + ".json"

    async def read(self, client: Client) -> Detail[Any]:
        """Return the record."""
        found: Detail[Any] = await getattr(client, self.endpoint.name)(**self.arguments())
        return found

    async def call(self, client: Client) -> Any:
        """Read the record."""
        detail = await self.read(client)
        self.rows_read = 1
        if selection := self.selection():
            selection.add([detail.record])
            return selection.values[0]
        with export.rows_file(self.target) as file:
            await asyncio.to_thread(file.add, [detail.record], {0: detail.extra})
        return self.manifest(file)


def _require_own_file(path: object) -> None:
    if isinstance(path, str) and "{{" not in path:
        raise ValueError(
            "path: the mapped tasks would overwrite one file. Put {{ ti.map_index }} into the path, or"
            " leave path out"
        )
