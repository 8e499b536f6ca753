# The image of Agent-Reach: one static binary on an empty file system. Certificates and time zones are linked into it, so there is
# no base image to pull, and no shell in it. It runs as an ordinary user.
#
#   docker build -t agent-reach .                                   compiles in the golang image
#   make image-files                                                or: compiles on this machine,
#   docker build -t agent-reach --build-arg FILES=prebuilt .        takes that, and pulls nothing
#
# The target `agents` has two small agents besides, for docker-compose.yml.
ARG FILES=compiled
ARG GOLANG=golang:1.26

FROM ${GOLANG} AS compiled
ARG VERSION=dev
ARG GOPROXY
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make image-files VERSION=${VERSION}

FROM scratch AS prebuilt
COPY bin/image /src/bin/image

FROM ${FILES} AS files

FROM scratch AS base
# The licences of everything that is linked go where the binary goes.
COPY --from=files /src/bin/image/licenses /licenses
COPY --from=files /src/bin/image/reach /reach
# A new volume takes over the owner of the folder that it is mounted on.
COPY --from=files --chown=65532:65532 /src/bin/image/data /data
ENV PATH=/
WORKDIR /data
USER 65532:65532
ENTRYPOINT ["/reach"]
CMD ["--help"]

FROM base AS agents
COPY --from=files /src/bin/image/agents /agents

FROM base AS reach
