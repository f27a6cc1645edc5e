"""Base of the operators that run a step of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bms.arguments import argument
from bms_flows import extra
from bms_provider import flow_context
from bms_provider.operators.base import BmsOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from airflow.sdk import Context

    from bms_flows.runtime.context import FlowContext


class BmsFlowOperator(BmsOperator):
    """Base of the operators that run a step of a flow, with the service, the warehouse and the files below ``BMS_DATA_ROOT``.

    An argument that is None takes the run's param, of the name in parentheses, if the DAG has it.

    :param warehouse_conn_id: connection of type ``postgres`` with the warehouse (templated).
    """

    template_fields: Sequence[str] = (*BmsOperator.template_fields, "warehouse_conn_id")
    warehouse_conn_id: str = flow_context.WAREHOUSE_CONN_ID

    def __init__(
        self, *, warehouse_conn_id: str = flow_context.WAREHOUSE_CONN_ID, **kwargs: Any
    ) -> None:
        extra.require()
        super().__init__(**kwargs)
        self.warehouse_conn_id = warehouse_conn_id

    def execute(self, context: Context) -> Any:
        """Run the step; return its result for XCom."""
        raise NotImplementedError

    def given(self, context: Mapping[str, Any], name: str, type_: Any, param: str = "") -> Any:
        """Return an argument of the operator, else the param of the run; raise `BadArgument`."""
        value = getattr(self, name)
        if value is None:
            value = context["params"].get(param or name)
        return argument(name, value, type_)

    def open(self) -> AbstractContextManager[FlowContext]:
        """Return the flow context of a step that writes data of the service.

        Raises `ServiceMismatch` if the warehouse holds data of another service.
        """
        return flow_context.open_for_service(self.hook.settings, self.warehouse_conn_id)
