"""Inputs that are varied on purpose: [vary.NAME] of a test script makes several versions of every image."""

ENTRY_POINTS = {"hate.sections": {"vary": "harness.vary.options:VARY"}}
