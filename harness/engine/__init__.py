"""Run the cases of a test, in this process or in workers, and resume a run that was stopped."""
