"""Read lines of records that look alike without decoding each of them."""
