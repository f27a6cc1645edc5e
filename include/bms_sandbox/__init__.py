"""The described service as a runnable program, with dialects and faults; shares no code with the client."""
