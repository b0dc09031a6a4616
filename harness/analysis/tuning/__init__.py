"""Tuning: which setting is best by a goal, and whether its lead over the default is more than noise."""
