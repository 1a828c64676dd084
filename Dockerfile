# syntax=docker/dockerfile:1

# Names that can be moved to other images; docs/development.md says how to give them by digest.
ARG PYTHON=python:3.13-slim-bookworm
ARG RUST=rust:1.95-slim-bookworm
FROM ${RUST} AS rust

# ---- build: a wheel with the compiled kernel in it, and those that it needs, by their hashes
FROM ${PYTHON} AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=rust /usr/local/cargo /usr/local/cargo
COPY --from=rust /usr/local/rustup /usr/local/rustup
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
WORKDIR /src
COPY .ci/image.lock ./
RUN pip wheel --no-cache-dir --require-hashes --wheel-dir /wheels --requirement image.lock \
    && pip install --no-cache-dir --no-index --find-links /wheels maturin
COPY pyproject.toml README.md ./
COPY tokenizer_core ./tokenizer_core
COPY service ./service
COPY artifacts ./artifacts
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

# ---- run: no compiler, no root
FROM ${PYTHON}
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels 'tokd[jobs]'
RUN useradd --system --no-create-home --uid 10001 tokd
WORKDIR /srv
# Under a umask of 077 a clone is readable by its owner alone.
COPY --chmod=755 artifacts ./artifacts
USER tokd
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.getenv('TOKD_PORT', '8000') + '/readyz', timeout=2)"]
# Outside a container the service binds to loopback; inside, loopback would be out of reach. Where others can reach the
# server it starts only with --keys FILE, or with --no-auth.
ENTRYPOINT ["tokd", "serve", "--host", "0.0.0.0"]
