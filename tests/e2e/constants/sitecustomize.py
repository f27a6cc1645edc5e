"""Give processes with this folder on PYTHONPATH other constants of the settings: BMS_TEST_CONSTANTS, as JSON."""

import json
import os

from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.settings import FlowSettings

for name, value in json.loads(os.environ.get("BMS_TEST_CONSTANTS", "{}")).items():
    for kind in (FlowSettings, OnboardingSettings):
        defaults = kind.__init__.__kwdefaults__ or {}
        if name in defaults:
            defaults[name] = value
