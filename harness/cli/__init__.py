"""The command line: parse, call, print. One small file a command."""
