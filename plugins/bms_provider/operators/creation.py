"""Base of the creating operators: a body that Airflow never stores, at most one record."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from airflow.sdk import XComArg
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowSkipException,
    AirflowTaskTimeout,
)

from bms.arguments import BadArgument
from bms_provider import files, lineage
from bms_provider.hooks.connection import BadConnection
from bms_provider.operators import export
from bms_provider.operators.base import BmsOperator
from bms_provider.operators.export import BadBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import DAG, Context
    from upath import UPath

    from bms.client import Client
    from bms.records import CreatedEmployee
    from bms.responses import CreatedId

LITERAL = (
    "Airflow stores the arguments of a mapped operator and the default_args with the DAG, and shows"
    " them. Give a callable, body_path, or the output of another task"
)

Body: TypeAlias = Mapping[str, Any] | Callable[["Context"], Mapping[str, Any]] | XComArg


class BmsCreateOperator(BmsOperator):
    """Create a record, at most once.

    ``body`` is personal data, and Airflow shows rendered template fields. So it is none: the operator
    evaluates it while the task runs.

    ``retries`` is 0 unless it is an argument of the operator (or of its ``partial``); ``default_args`` do
    not apply. Only an error after which the service has certainly created nothing is retried. Any other
    fails the task for good (`AirflowFailException`): look for the record before you clear the task.

    :param body: a callable, which receives Airflow's context and returns the body; or a dictionary,
        whose Jinja templates are rendered during ``execute``, unless the operator is mapped; or an
        ``XComArg``, only for a body without personal data, or with your own XCom backend. `partial()`
        takes only a callable, `expand()` only an ``XComArg``: Airflow stores mapped arguments.
    :param body_path: alternative to ``body``: JSON file below ``BMS_DATA_ROOT`` (templated).
    :return: to XCom: the ids.
    """

    template_fields: Sequence[str] = (*BmsOperator.template_fields, "body_path")
    creates = True
    body: Body | None = None
    body_path: str | None = None
    created = False
    """Whether the task has created the record, for lineage."""
    _evaluated: Mapping[str, Any] | None = None

    def __init__(
        self, *, body: Body | None = None, body_path: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**{"retries": 0, **kwargs})
        _refuse("default_args", literal=_has_default(self.get_dag()))
        if (body is None) == (body_path is None):
            raise ValueError("give either body or body_path")
        if callable(body) and not _takes_one_argument(body):
            raise ValueError("body: the callable takes one argument, the context of Airflow")
        self.body = body
        self.body_path = body_path
        XComArg.apply_upstream_relationship(self, body)

    @classmethod  # type: ignore[misc]  # Airflow declares an attribute
    def partial(cls, **kwargs: Any) -> Any:
        """Return the operator to be expanded, without the ``retries`` of ``default_args``."""
        body = kwargs.get("body")
        if any(XComArg.iter_xcom_references(body)):
            raise ValueError("partial() takes no XComArg as body: give it to expand()")
        _refuse("partial()", literal=body is not None and not callable(body))
        return _Partial(super().partial(**{"retries": 0, **kwargs}))

    @cached_property
    def source(self) -> UPath | None:
        """The file of the body, None if ``body`` is given."""
        return None if self.body_path is None else files.below_root(self.body_path)

    def execute(self, context: Context) -> Any:
        """Create the record; an error after which it may exist fails the task for good."""
        try:
            self._evaluated = None if self.body is None else self._evaluate(context)
            return super().execute(context)
        except AirflowSkipException:
            raise  # by a callable, before anything is sent
        except (Exception, AirflowTaskTimeout) as error:
            if getattr(error, "retriable", False):
                raise  # the client marks a failed creation so if the service surely created nothing
            failure = AirflowFailException(failure_text(error))
        finally:
            self._evaluated = None
        raise failure  # outside `except`: the text of a foreign error may quote the body

    def prepare(self) -> None:
        """Read the connection and attach the file system of the body."""
        super().prepare()
        _ = self.source

    async def call(self, client: Client) -> dict[str, Any]:
        """Send the body."""
        body = self._evaluated
        if self.source is not None:
            body = await asyncio.to_thread(export.read_body, self.source)
        ids: dict[str, Any] = msgspec.to_builtins(await self.create(client, body or {}))
        self.created = True
        return ids

    def outcome(self, value: Any) -> str:  # noqa: ARG002 - ids are in XCom
        """Describe the creation."""
        return "record created"

    def get_openlineage_facets_on_complete(
        self, _task_instance: Any
    ) -> OperatorLineage[Any, Any] | None:
        """Return the dataset of the created record, for OpenLineage."""
        if not self.created:
            return None
        return lineage.created(self.endpoint, self.hook.settings.base_url)

    async def create(self, client: Client, body: Mapping[str, Any]) -> CreatedEmployee | CreatedId:
        """Create the record and return its ids."""
        created: CreatedEmployee | CreatedId = await getattr(client, self.endpoint.name)(body)
        return created

    def _evaluate(self, context: Context) -> Mapping[str, Any]:
        """Return the body of the current run; raise `BadBody`, which quotes nothing of it."""
        from bms.field_values import JSON, NoJson  # noqa: PLC0415 - with the task, not at import

        try:
            body = self._rendered(context)
            JSON.encode(body)
        except AirflowSkipException:
            raise
        except NoJson as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - its text may quote the body
            *_, place = traceback.extract_tb(error.__traceback__)
            reason = f"{type(error).__name__} in {place.name}, line {place.lineno}"
        else:
            if isinstance(body, Mapping):
                return body
            reason = f"it is no dictionary but {type(body).__name__}"
        raise BadBody(f"body could not be evaluated: {reason}; nothing was sent")

    def _rendered(self, context: Context) -> Any:
        if callable(self.body):
            return self.body(context)
        index = getattr(context.get("ti"), "map_index", None)
        in_mapped_group = self.get_closest_mapped_task_group() is not None
        if index is None or index < 0 or in_mapped_group:
            return self.render_template(self.body, context)
        return self.body  # mapped: resolved by Airflow, and the data of another task is no template


class _Partial:
    """A partial operator that is expanded over bodies of other tasks only."""

    def __init__(self, partial: Any) -> None:
        self._partial = partial
        self._refuse("default_args", literal=_has_default(partial.kwargs["dag"]))

    def expand(self, **mapped: Any) -> Any:
        """Expand the operator; raise `ValueError` for literal bodies."""
        self._refuse("expand()", literal=not isinstance(mapped.get("body"), XComArg | None))
        return self._partial.expand(**mapped)

    def expand_kwargs(self, kwargs: Any, **strict: Any) -> Any:
        """Expand the operator; raise `ValueError` for literal bodies."""
        literal = not isinstance(kwargs, XComArg) and any("body" in each for each in kwargs)
        self._refuse("expand_kwargs()", literal=literal)
        return self._partial.expand_kwargs(kwargs, **strict)

    def _refuse(self, method: str, *, literal: bool) -> None:
        # Airflow warns about a partial operator that was never expanded.
        self._partial._expand_called = literal  # noqa: SLF001
        _refuse(method, literal=literal)


def _has_default(dag: DAG | None) -> bool:
    body = dag.default_args.get("body") if dag else None
    return body is not None and not callable(body)


def _refuse(method: str, *, literal: bool) -> None:
    if literal:
        raise ValueError(f"{method} takes no literal body: {LITERAL}")


def _takes_one_argument(function: Callable[..., Any]) -> bool:
    with suppress(ValueError):  # a function of C without a signature
        try:
            inspect.signature(function).bind({})
        except TypeError:
            return False
    return True


def failure_text(error: BaseException) -> str:
    """Return why a creation failed for good, without the body."""
    from bms.errors import BmsError, InvalidTlsFile  # noqa: PLC0415 - with the client, not at import

    kind = type(error).__name__
    if isinstance(
        error, BmsError | BadConnection | InvalidTlsFile | BadArgument | BadBody | files.BadPath
    ):
        return f"{kind}: {error}"
    return f"{kind} during the creation: look for the record in the service before you run it again"
