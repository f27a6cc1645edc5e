"""Arguments and params of the DAGs of mirrored resources, from their descriptions."""

from datetime import timedelta
from typing import Any

from airflow.sdk import Param

from bms_flows.catalog import FLOWS
from bms_provider import policy
from bms_warehouse.resources import RESOURCES, ResourceDescription


def dag_arguments(dag_id: str, text: str | None) -> dict[str, Any]:
    """Return the arguments of `@dag` for the DAG of a mirrored resource; `text` is its documentation."""
    [resource] = (each for each in RESOURCES if each.name == FLOWS[dag_id].loads)
    deadline = timedelta(hours=resource.deadline_hours)
    return {
        "doc_md": policy.documentation(text, dag_id),
        "max_active_runs": 1,
        "allowed_run_types": policy.WITHOUT_WINDOW,
        "params": params(resource),
        **policy.dag_arguments(resource.plural, resource.system.lower(), deadline=deadline),
    }


def params(resource: ResourceDescription) -> dict[str, Param]:
    """Return the params of the DAG of a mirrored resource."""
    found = {"entities": policy.ENTITIES} if resource.per_entity else {}
    found |= {
        each.name: Param(
            None,
            **(policy.INTEGER if each.kind == "integer" else {"type": ["null", each.kind]}),
            title=each.title,
            description=f"{each.meaning} Other records stay unchanged. Empty: all.",
        )
        for each in resource.restrictions
    }
    if resource.other_filters:
        found["filter"] = Param(
            resource.filter,
            enum=[resource.filter, *resource.other_filters],
            title="Filter",
            description=f"{resource.title} to request from the service. Only {resource.filter} detects"
            f" missing {resource.plural}.",
        )
    if resource.private_columns:
        found[resource.details_level] = Param(
            None,
            type=["null", "string"],
            enum=[None, "off", "directory", "full"],
            title="Details",
            description="off: the fields of the list. directory: also those of the detail that are not private."
            " full: also the private fields, in bms_private. Empty:"
            f" BMS_{resource.details_level.upper()}.",
        )
    elif resource.has_detail:
        fields = ", ".join(resource.detail_columns)
        found["details"] = Param(
            True,
            type="boolean",
            title="Read details",
            description=f"Sends one request for each new or changed record to read: {fields}."
            " If off, they keep their stored values.",
        )
    if resource.has_detail:
        found["full"] = Param(
            False,
            type="boolean",
            title="Read all details again",
            description="Sends one request for each record, changed or not, even beyond BMS_MIRROR_DETAILS.",
        )
    found["accept_gone"] = Param(
        False,
        type="boolean",
        title="Confirm many removals",
        description="Marks missing records as removed even if they are unusually many. Check the service first."
        + " The detail of each must confirm the removal." * resource.has_detail,
    )
    return found
