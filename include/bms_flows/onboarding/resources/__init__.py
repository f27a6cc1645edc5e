"""Employees, contacts and consultants: their fields, match rules, lists and creates."""
