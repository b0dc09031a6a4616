"""The runs of every subject, for products with what the lab adds."""

from tests.products.conftest import all_runs as all_runs
