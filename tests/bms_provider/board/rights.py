"""Airflow's simple auth manager, extended by permissions on single DAGs."""

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

RIGHTS = {
    "clerk": {"GET": {"invoice_extraction"}},
    "recruiter": {"GET": {"invoice_extraction", "employee_onboarding"}, "PUT": {"employee_onboarding"}},
}  # fmt: skip


class RightsPerDag(SimpleAuthManager):
    """Grant the listed users these permissions, and all other users those of their role."""

    def is_authorized_dag(self, *, method: Any, user: Any, **given: Any) -> bool:
        if user.username not in RIGHTS:
            return super().is_authorized_dag(method=method, user=user, **given)
        dag = given["details"].id
        return dag in RIGHTS[user.username].get(method, set())
