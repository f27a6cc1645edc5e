"""The mirror: contacts, consultants and employees as the service has them, with history."""
