"""Is the urn well mixed: which sampling design explains how a rate varies (`hate urn`)."""
