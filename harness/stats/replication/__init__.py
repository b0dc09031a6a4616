"""Variance by replication: a sample of strata and units, replicate designs, and estimates with valid intervals."""
