# Each target runs one script or command.
.PHONY: demo up test lint fix bench prove docs lock wheel matrix install
.DEFAULT_GOAL := demo
# All processes of a command share compiled modules: without these, each start of Airflow compiles it again.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.local/compiled

demo: install     ## start the local stack, run four DAG runs, compare their results, stop
	@.venv/bin/python -m stack demo
up: install       ## start the local stack with Airflow's UI; Ctrl-C stops it
	@.venv/bin/python -m stack up
test: install     ## lint, then the tests
	@scripts/test
prove: install    ## long proofs: full Airflow runs, all fault combinations of creation, killed extractions
	@scripts/prove
bench: install    ## benchmarks: loads against their ceilings, dlt and pandas; growth, creation
	@scripts/bench
docs: install     ## build the documentation site into .local/site
	@.venv/bin/python scripts/reference && NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet && echo "Open .local/site/index.html"
lint: install     ## ruff, mypy and the tests that only read files
	@scripts/lint
fix: install      ## let ruff fix and format the code
	@.venv/bin/ruff check --fix . && .venv/bin/ruff format .
wheel: install    ## build dist/: wheel, sdist, and the constraints that a deployment installs
	@scripts/wheel
matrix: install   ## install the wheel with each supported Airflow, Python and PostgreSQL and run it there (ten minutes when idle)
	@.venv/bin/python scripts/matrix
lock:             ## update requirements.lock from requirements.txt and pyproject.toml
	@scripts/lock
install:
	@scripts/install
