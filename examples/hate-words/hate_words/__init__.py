"""Speech recognition for hate: sentences are compared word by word."""
