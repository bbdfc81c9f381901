# Your own processes and every disk of the host:
#     docker build -t iodash .
#     docker run -it --rm iodash
#
# The whole host:
#     docker run -it --rm --pid=host --network=host --cgroupns=host --user root --cap-add SYS_PTRACE \
#         --security-opt apparmor=unconfined -v /etc/passwd:/etc/passwd:ro -v /dev/shm:/dev/shm:ro --gpus all iodash
#
# --pid=host                           the host's processes, and the names of those on the GPUs
# --user root --cap-add SYS_PTRACE     I/O of other users' processes; capabilities reach root only
# --security-opt apparmor=unconfined   the same on hosts with AppArmor (Ubuntu, Debian), whose default profile forbids it
# --network=host                       the host's network interfaces
# --cgroupns=host                      the limits of the other containers
# -v /etc/passwd:/etc/passwd:ro        the host's user names
# -v /dev/shm:/dev/shm:ro              how full the host's shared memory is
# --gpus all                           the GPUs; needs the NVIDIA Container Toolkit
#
# iodash only looks: nothing needs write access.

ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements.lock ./
RUN pip wheel --quiet --require-hashes --no-deps --wheel-dir /wheels --requirement requirements.lock
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY app app
COPY styles styles
# Of the locked wheels only those that iodash itself needs end up in the environment.
RUN pip wheel --quiet --no-index --find-links /wheels --no-deps --wheel-dir /wheels . \
    && python -m venv --without-pip /opt/iodash \
    && pip --python /opt/iodash/bin/python install --quiet --no-index --find-links /wheels iodash

FROM python:${PYTHON}-slim
COPY --from=build /opt/iodash /opt/iodash
RUN useradd --system --create-home --uid 10001 iodash
ENV PATH=/opt/iodash/bin:$PATH \
    LANG=C.UTF-8 \
    TERM=xterm-256color \
    COLORTERM=truecolor \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=utility
USER iodash
WORKDIR /home/iodash
ENTRYPOINT ["iodash"]
