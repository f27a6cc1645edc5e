"""The DAG of a mirrored resource, made from its description."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable, Param, dag, task

from bms_flows.catalog import MIRRORS
from bms_provider import assets, policy
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_warehouse.resources import ResourceDescription

DOCUMENTATION = """{summary}

Loads the {plural} into `bms.{name}` and every change as a version into `bms.{name}_version`.

- **Complete lists**: the run reads the list twice, with two page sizes. If {plural} moved between
  pages, so that the two readings together may still miss some, the run is `unstable`: it loads what it
  read and marks no {name} as deleted.
- **Few requests**: {requests}
- **Deleted {plural}**: `deleted` is true for each {name} that the service flags, if it has a flag, and
  for each {name} that is missing from the list{confirmed}. Rows are never removed. If unusually many {plural}
  are missing at once, the run marks none and fails; check the service, then run again with
  `accept_gone`.
{private}- **Partial runs**: a run that restricts the list leaves all other {plural} unchanged.
"""

PRIVATE = """- **Private fields**: {fields}. `{level}=full` stores them in the schema `bms_private`, which
  only the role `bms_private_reader` can read. Other runs store them nowhere.
"""


def mirror(dag_id: str) -> DAG:
    """Return the DAG; raise `KeyError` unless a description makes it."""
    resource = MIRRORS[dag_id]
    text = DOCUMENTATION.format(
        summary=resource.summary,
        name=resource.name,
        plural=resource.plural,
        requests=f"the run reads the details of new and changed {resource.plural}, and of a few others"
        " in rotation."
        if resource.has_detail
        else f"the service has no detail of {resource.plural}, so the run reads only the list.",
        private=PRIVATE.format(
            fields=", ".join(f"`{name}`" for name, _, _ in resource.private_columns),
            level=resource.details_level,
        )
        if resource.private_columns
        else "",
        confirmed=", after the detail confirms it" if resource.has_detail else "",
    )

    @dag(
        dag_id,
        schedule=CronTriggerTimetable(str(resource.schedule), timezone=policy.TIME_ZONE),
        doc_md=policy.documentation(text, dag_id),
        max_active_runs=1,
        allowed_run_types=policy.WITHOUT_WINDOW,
        params=_params(resource),
        **policy.dag_arguments(
            resource.plural,
            resource.system.lower(),
            deadline=timedelta(hours=resource.deadline_hours),
        ),
    )
    def described() -> None:
        """Read, compare, load."""

        @task(**policy.LOAD, outlets=[assets.BY_TABLE[resource.name]])
        def sync() -> dict[str, object]:
            """Read the list and any details, load changes, mark missing rows as deleted."""
            from bms_provider.tasks import mirror  # noqa: PLC0415 - only a running task needs it

            return mirror.sync(resource.name)

        check_access = BmsCheckAccessOperator(
            task_id="check_access",
            requires=resource.operations,
            **policy.ONE_REQUEST,
        )
        check_access >> sync()

    return described()


def _params(resource: ResourceDescription) -> dict[str, Param]:
    params = {
        each.name: Param(
            None,
            type=["null", each.kind],
            title=each.title,
            description=f"{each.meaning} Restricts the list and leaves all other {resource.plural}"
            " unchanged. Empty: no restriction.",
        )
        for each in resource.restrictions
    }
    if resource.other_filters:
        params["filter"] = Param(
            resource.filter,
            enum=[resource.filter, *resource.other_filters],
            title="Filter",
            description=f"{resource.title} to request from the service. Only {resource.filter} detects"
            f" missing {resource.plural}.",
        )
    if resource.private_columns:
        params |= policy.details_level_param(resource.details_level)
    elif resource.has_detail:
        params |= policy.details_param(resource.name, ", ".join(resource.detail_columns))
    return params | policy.mirror_params(resource.name, details=resource.has_detail)
