"""Settings of the board's pages."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from fastapi import Depends

from bms_flows.onboarding.settings import OnboardingSettings


@lru_cache(maxsize=1)
def settings() -> OnboardingSettings:
    """Return the settings from the environment of this process."""
    return OnboardingSettings.from_environment()


SettingsDep = Annotated[OnboardingSettings, Depends(settings)]
