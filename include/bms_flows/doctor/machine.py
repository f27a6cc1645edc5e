"""Checks of this machine: the data root and its disk, and the settings in the environment."""

import shutil
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from uuid import uuid4

from upath import UPath

from bms_flows.doctor.finding import Finding
from bms_flows.monitoring.channels import channels
from bms_flows.onboarding.planning.rules import Reading
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime import storage
from bms_flows.runtime.settings import FlowSettings, InvalidSetting, without_effect
from bms_flows.runtime.working_days import Holidays


def data_root(root: UPath, least: int) -> Iterator[Finding]:
    """Yield a data root that can't be written, or whose disk has less than `least` bytes free."""
    if root.protocol in storage.LOCAL and not root.is_dir():
        yield Finding("data_root_unusable", f"{root} is no folder.")
        return
    probe = root / f".doctor-{uuid4().hex}"
    try:
        storage.save_private(probe, b"x")
        probe.unlink()
    except storage.DiskFull as error:
        yield Finding("data_root_low", f"{error}.")
        return
    except Exception as error:  # noqa: BLE001 - each kind of store has its own errors
        yield Finding("data_root_unusable", f"{root} can't be written: {type(error).__name__}.")
        return
    if root.protocol in storage.LOCAL:
        free = shutil.disk_usage(Path(root.path)).free
        if free < least:
            yield Finding(
                "data_root_low", f"{free / 1e9:.1f} GB free, {least / 1e9:.1f} GB wanted."
            )


def settings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield an invalid setting, also one that only its use shows, and variables that no setting reads."""
    try:
        given = OnboardingSettings.from_environment(environment)
        channels(given)
        Holidays(given.holidays).last_working(date(2026, 1, 5))
        for resource in REMOTES:
            _ = Reading.of(resource, given).rules
    except InvalidSetting as error:
        yield Finding("setting_invalid", str(error))
    for sentence in without_effect(environment, [FlowSettings, OnboardingSettings]):
        yield Finding("setting_without_effect", sentence)
