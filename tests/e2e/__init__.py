"""Tests that share one stack: a package, so that pytest stops the stack after its last test."""
