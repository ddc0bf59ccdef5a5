# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
#
# ethosgen with its compiler and QEMU, in a container of Debian 13:
#
#     docker build -t ethosgen .
#     docker run --rm -v "$PWD:/work" ethosgen verify MODEL --board corstone300
FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-venv
COPY . /source
RUN python3 -m venv /opt/ethosgen && /opt/ethosgen/bin/pip install --no-cache-dir /source

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
        cmake gcc-arm-none-eabi libnewlib-arm-none-eabi ninja-build python3 qemu-system-arm \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/ethosgen /opt/ethosgen
ENV PATH=/opt/ethosgen/bin:/usr/local/bin:/usr/bin:/bin
WORKDIR /work
ENTRYPOINT ["ethosgen"]
