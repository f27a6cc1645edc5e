# Images of the project: `dev` has the packages of requirements.txt, and docker-compose.yaml mounts the code; `airflow` contains the
# project's wheel; `sandbox` simulates the service. All packages have the versions of requirements.lock, verified by their hashes.
ARG PYTHON=3.11.13-slim-bookworm

FROM python:${PYTHON} AS uv
WORKDIR /src
COPY requirements.lock ./
# pip installs uv from its entry in the lock, with hashes; uv then installs the rest.
RUN awk '/^uv==/ {on=1} on {print} on && !/\\$/ {exit}' requirements.lock > /tmp/uv.lock \
    && python -m venv /opt/uv \
    && /opt/uv/bin/pip install --quiet --no-cache-dir --require-hashes -r /tmp/uv.lock \
    && /opt/uv/bin/uv venv --python "$(command -v python)" /opt/venv

FROM uv AS build
COPY pyproject.toml README.md LICENSE ./
COPY dags dags
COPY include include
COPY plugins plugins
RUN /opt/uv/bin/uv build --wheel --build-constraints requirements.lock --out-dir /dist .
# Naming Airflow's version keeps the resolver from changing it; the lock pins all other packages.
ARG AIRFLOW=3.3.2
ARG EXTRAS=flows,s3,celery,otel
RUN /opt/uv/bin/uv pip install --python /opt/venv/bin/python --no-cache --compile-bytecode \
    "bms-airflow[${EXTRAS}] @ file://$(ls /dist/*.whl)" "apache-airflow==${AIRFLOW}" \
    --constraints requirements.lock

FROM python:${PYTHON} AS base
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    AIRFLOW_HOME=/opt/airflow \
    AIRFLOW__CORE__LOAD_EXAMPLES=False \
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED=False \
    BMS_DATA_ROOT=file:///data
# New volumes inherit the owner of these folders.
RUN useradd --uid 50000 --gid 0 --no-create-home --home-dir /opt/airflow airflow \
    && mkdir -p -m 0770 /opt/airflow/logs /opt/airflow/auth /data \
    && chown -R airflow:0 /opt/airflow /data
# The Helm chart's health checks call this path.
RUN printf '#!/bin/sh\nexec "$@"\n' > /entrypoint && chmod 755 /entrypoint
COPY deploy/setup /opt/bms/setup
WORKDIR /opt/airflow
CMD ["airflow", "version"]

# Production: the wheel, and its DAGs in Airflow's own folder; mount further DAGs next to them.
FROM base AS airflow
COPY --from=build /opt/venv /opt/venv
RUN bms dags --write /opt/airflow/dags/bms
USER airflow

# Development: packages only. The editable installation gives Airflow the provider's entry points and puts the folders plugins and
# include on the path, where docker-compose.yaml mounts the code.
FROM base AS dev
COPY --from=uv /opt/uv /opt/uv
COPY --from=uv /opt/venv /opt/venv
COPY pyproject.toml README.md LICENSE requirements.txt requirements.lock ./
RUN mkdir dags include plugins \
    && /opt/uv/bin/uv pip install --python /opt/venv/bin/python --no-cache --compile-bytecode -r requirements.txt \
       --constraints requirements.lock --build-constraints requirements.lock
ENV PYTHONDONTWRITEBYTECODE=1 \
    AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL=10
USER airflow

# Sandbox: a program that simulates the service, without Airflow and without the project's other packages.
FROM python:${PYTHON} AS sandbox
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/opt/sandbox \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY --from=uv /opt/uv /opt/uv
COPY --from=uv /opt/venv /opt/venv
COPY requirements.lock /tmp/
RUN /opt/uv/bin/uv pip install --python /opt/venv/bin/python --no-cache \
    fastapi msgspec pyjwt uvicorn --constraints /tmp/requirements.lock \
    && useradd --uid 50000 --gid 0 --no-create-home sandbox
COPY include/bms_sandbox /opt/sandbox/bms_sandbox
USER sandbox
CMD ["python", "-m", "bms_sandbox", "--help"]
