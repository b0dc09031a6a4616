"""A test script: data, cases, ground truth and sampling design; declarative, never code."""
