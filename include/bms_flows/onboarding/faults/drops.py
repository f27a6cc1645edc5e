"""Reasons for which a dropped file waits, or its drop was withdrawn."""

from bms_flows.runtime.reasons import Reason

WAITING = {
    "growing": Reason(
        "The file changed between two scans of the inbox.",
        "Wait until the copy ends. If nothing is being copied, find the program that writes to the file.",
    ),
    "being_written": Reason(
        "A program on this server has the file open for writing.",
        "Close the file in that program, or wait for the copy to end.",
    ),
    "open_in_editor": Reason(
        "The file is open in Excel or LibreOffice: their lock file is beside it.",
        "Close the file. After BMS_DROP_STABLE_MINUTES (10) without a change it is processed as it"
        " is, because a crash leaves the lock file behind.",
    ),
    "empty": Reason(
        "The file is empty. The copy may not have started.",
        "Drop the file again with its content. After BMS_DROP_STABLE_MINUTES (10) without a change"
        " the empty file is refused.",
    ),
    "incomplete": Reason(
        "The end of the file is missing: no line break after the last line, a quote that is never"
        " closed, or a workbook copied in part. The copy may still be running.",
        "If the file is complete, wait: after BMS_DROP_STABLE_MINUTES (10) without a change the file"
        " is processed, and its plan needs approval. To start sooner, add a line break, or trigger"
        " the DAG with the drop's number. If the file is not complete, drop it again.",
    ),
    "unreadable": Reason(
        "The file can't be read.",
        "Give the user that runs Airflow's tasks read permission.",
    ),
    "bad_name": Reason(
        "The file name is too long, or contains unreadable characters.",
        "Rename the file: a short name of letters and digits.",
    ),
}
"""Why a dropped file is not processed yet, by the code in `waits_for`."""

WITHDRAWN = {
    "removed": Reason(
        "The file was removed from the inbox before it was read.",
        "None if the removal was intended; otherwise drop the file again.",
    ),
    "changed": Reason(
        "The file changed after the inbox scan; the changed file is a separate drop.",
        "Check the later drop of the same file.",
    ),
    "archive_expired": Reason(
        "The original is no longer in the archive: BMS_KEEP_PEOPLE_DAYS have passed, or the file"
        " was deleted.",
        "Drop the file again.",
    ),
}
"""Why a drop was withdrawn before its file was read, by code."""
