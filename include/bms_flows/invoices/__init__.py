"""The invoice flow: plan, fetch, decode, transform, validate, load, publish."""
