"""Other choices of gallery and probe images out of similarity matrices (`hate permute`)."""
