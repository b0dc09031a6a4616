"""Reading files strictly: TOML with the lines of its mistakes, tables row by row, digests."""
