"""Checks of `bms doctor`: what stops the flows, or will, each finding with its remedy."""
