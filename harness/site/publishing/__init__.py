"""Publishing: what is offered is checked, then decided on, then written; readers see all of it or nothing."""
