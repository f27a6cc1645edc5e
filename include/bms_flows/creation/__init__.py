"""Creation: people of a drop become records of the service, each of them once."""
