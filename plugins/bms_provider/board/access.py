"""Who asks, and which of our DAGs they may view and edit: Airflow's own word on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, HTTPException, status

from bms_provider.board.flows import FLOWS


@dataclass(frozen=True)
class Viewer:
    """The user of a valid token."""

    user: Any

    @cached_property
    def views(self) -> frozenset[str]:
        """The flows that they may view."""
        return self._allowed("GET")

    @cached_property
    def edits(self) -> frozenset[str]:
        """The flows that they may edit: they see personal data that these handle."""
        return self._allowed("PUT")

    def must_view(self, flow: str) -> None:
        """Raise 404 where there is no such flow, 403 where they may not view it."""
        if flow not in FLOWS:
            raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such flow.")
        if flow not in self.views:
            raise HTTPException(status.HTTP_403_FORBIDDEN, "You may not view this DAG.")

    def must_edit(self, flow: str) -> None:
        """Raise 403 where they may not edit the flow."""
        self.must_view(flow)
        if flow not in self.edits:
            raise HTTPException(
                status.HTTP_403_FORBIDDEN,
                "The file holds personal data: it is for those who may edit the DAG.",
            )

    def _allowed(self, method: Any) -> frozenset[str]:
        dags = get_auth_manager().get_authorized_dag_ids(user=self.user, method=method)
        return frozenset(dags & FLOWS.keys())


def viewer(user: GetUserDep) -> Viewer:
    """Return who asks; 401 without a token, 403 where they may view none of our DAGs."""
    asking = Viewer(user)
    if not asking.views:
        raise HTTPException(status.HTTP_403_FORBIDDEN, "You may view none of these DAGs.")
    return asking


ViewerDep = Annotated[Viewer, Depends(viewer)]
UserDep = GetUserDep
"""The user of a valid token; 401 without one."""


def may_edit(user: Any, dag_id: str) -> bool:
    """Return whether a user may edit a DAG, the project's or any other."""
    return dag_id in get_auth_manager().get_authorized_dag_ids(user=user, method="PUT")
