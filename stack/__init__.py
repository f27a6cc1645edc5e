"""The local stack: every process of the project on one machine, started in order, stopped in reverse.

`python -m stack demo` and `python -m stack up` are its commands; `stack.launcher.running` is the
same stack around a test. Everything it writes stands under `.local/` (`BMS_LOCAL_DIR` moves it).
"""
