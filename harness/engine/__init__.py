"""Run the cases of a test: in the process or in workers, resumed where a run stopped."""
