# One line each; the scripts behind them are there to be read.
.PHONY: demo up test lint fix bench prove lock install
.DEFAULT_GOAL := demo

demo: install     ## see it work: a local stack, one real extraction, a short table
	@.venv/bin/python -m stack demo
up: install       ## the same stack left running, with Airflow's UI
	@.venv/bin/python -m stack up
test: install     ## lint and the whole suite
	@scripts/test
prove: install    ## the longer proofs: real runs, the whole grid of creation, kills of the extraction
	@scripts/prove
bench: install    ## loads beside their ceilings and beside dlt, pandas and Singer, on this machine
	@scripts/bench
lint: install     ## ruff and mypy
	@scripts/lint
fix: install      ## let ruff mend what it can
	@.venv/bin/ruff check --fix . && .venv/bin/ruff format .
lock:             ## resolve pyproject.toml anew into requirements.lock
	@scripts/lock
install:
	@scripts/install
