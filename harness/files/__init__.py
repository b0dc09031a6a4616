"""Strict readers of files: TOML with line numbers for mistakes, tables row by row, gzip streams, digests."""
