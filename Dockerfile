# Image of the project: the project's wheel and a pinned Airflow, all packages in the versions of requirements.lock,
# verified by their hashes.
ARG PYTHON=3.11.13-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /src
COPY requirements.lock ./
# pip installs uv from its entry in the lock, with hashes; uv then installs the rest.
RUN awk '/^uv==/ {on=1} on {print} on && !/\\$/ {exit}' requirements.lock > /tmp/uv.lock \
    && python -m venv /opt/uv \
    && /opt/uv/bin/pip install --quiet --no-cache-dir --require-hashes -r /tmp/uv.lock
COPY pyproject.toml README.md LICENSE ./
COPY dags dags
COPY include include
COPY plugins plugins
RUN /opt/uv/bin/uv build --wheel --build-constraints requirements.lock --out-dir /dist . \
    && /opt/uv/bin/uv venv --python "$(command -v python)" /opt/venv
# Naming Airflow's version keeps the resolver from changing it; the lock pins all other packages.
ARG AIRFLOW=3.3.2
ARG EXTRAS=flows,s3,celery,otel
RUN /opt/uv/bin/uv pip install --python /opt/venv/bin/python --no-cache --compile-bytecode \
    "bms-airflow[${EXTRAS}] @ file://$(ls /dist/*.whl)" "apache-airflow==${AIRFLOW}" \
    --constraints requirements.lock

FROM python:${PYTHON} AS airflow
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
COPY --from=build /opt/venv /opt/venv
# The DAGs of the wheel in Airflow's own folder; mount further DAGs next to them.
RUN bms dags --write /opt/airflow/dags/bms
COPY deploy/setup /opt/bms/setup
WORKDIR /opt/airflow
USER airflow
CMD ["airflow", "version"]

# Sandbox: a program that simulates the service, without Airflow and without the project's other packages.
FROM python:${PYTHON} AS sandbox
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/opt/sandbox \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY --from=build /opt/uv /opt/uv
COPY requirements.lock /tmp/
RUN /opt/uv/bin/uv venv --python "$(command -v python)" /opt/venv \
    && /opt/uv/bin/uv pip install --python /opt/venv/bin/python --no-cache \
       fastapi msgspec pyjwt uvicorn --constraints /tmp/requirements.lock \
    && useradd --uid 50000 --gid 0 --no-create-home sandbox
COPY include/bms_sandbox /opt/sandbox/bms_sandbox
USER sandbox
CMD ["python", "-m", "bms_sandbox", "--help"]

# The stage airflow with an editable installation from /src, where docker-compose.dev.yaml mounts the checkout.
FROM airflow AS dev
USER root
WORKDIR /src
COPY --from=build /opt/uv /opt/uv
COPY --from=build /src /src
RUN /opt/uv/bin/uv pip install --python /opt/venv/bin/python --no-cache --no-deps \
    --build-constraints requirements.lock --editable .
ENV PYTHONDONTWRITEBYTECODE=1
WORKDIR /opt/airflow
USER airflow
