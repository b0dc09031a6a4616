"""Getting what a test needs: the cache, downloads, archives."""
