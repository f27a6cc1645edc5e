"""Authorization of the board's users, by their Airflow permissions on the DAGs."""

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

    @property
    def id(self) -> str:
        """The id, which logs name: some auth managers return a person's name as the user's name."""
        return str(self.user.get_id())

    @cached_property
    def views(self) -> frozenset[str]:
        """Flows whose DAG the user may view."""
        return frozenset(
            get_auth_manager().get_authorized_dag_ids(user=self.user, method="GET") & FLOWS.keys()
        )

    @cached_property
    def edits(self) -> frozenset[str]:
        """Flows whose DAG the user may edit, and whose personal data the user may therefore read."""
        return frozenset(_editable(self.user) & FLOWS.keys())

    def must_view(self, flow: str) -> None:
        """Raise 404 for an unknown flow, 403 if the user may not view its DAG."""
        if flow not in FLOWS:
            raise HTTPException(status.HTTP_404_NOT_FOUND, "Flow not found.")
        if flow not in self.views:
            raise HTTPException(status.HTTP_403_FORBIDDEN, "no_dag")

    def must_edit(self, flow: str) -> None:
        """Raise 403 if the user may not edit the flow's DAG."""
        self.must_view(flow)
        if flow not in self.edits:
            raise HTTPException(status.HTTP_403_FORBIDDEN, "personal_data")


def viewer(user: GetUserDep) -> Viewer:
    """Return the current user; 401 without a valid token, 403 for a user who may view no flow."""
    found = Viewer(user)
    if not found.views:
        raise HTTPException(status.HTTP_403_FORBIDDEN, "no_dags")
    return found


ViewerDep = Annotated[Viewer, Depends(viewer)]
UserDep = GetUserDep
"""Airflow's user; 401 without a valid token."""


def may_edit(user: Any, dag_id: str) -> bool:
    """Return whether a user may edit a DAG, the project's or any other."""
    return dag_id in _editable(user)


def _editable(user: Any) -> set[str]:
    """Return the DAGs that a user may edit; none for an anonymous user, whom the log of downloads cannot name.

    FAB's `[fab] auth_role_public` gives a role, and thereby permissions, to requests without a token.
    """
    if not user.get_id():
        return set()
    return get_auth_manager().get_authorized_dag_ids(user=user, method="PUT")
