"""Weekly probe of service behaviour that the interface does not specify."""
