# SPDX-License-Identifier: MIT
"""What the tests share. They run on the backend `host`, which compiles nothing, unless
TALLY_TEST_BACKEND names another; test_devices.py compares the devices that are here."""

import os

import hypothesis
import pytest

import tally

hypothesis.settings.register_profile(
    "default",
    max_examples=int(os.environ.get("TALLY_TEST_EXAMPLES", "60")),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("default")

SHARED = tally.Context(os.environ.get("TALLY_TEST_BACKEND", "host"))


@pytest.fixture(autouse=True)
def context():
    with SHARED:
        yield SHARED
