# docker build --build-arg VERSION=v0.1.0 -t riftrelay .
#
# The image holds the program and the public certificate authorities, nothing else: no shell, no user table, no libc.

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src

# The modules first: this layer stays while only the code changes.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X riftrelay/internal/config.version=$VERSION" \
    -o /out/riftrelay ./cmd/riftrelay

FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title="RiftRelay" \
      org.opencontainers.image.description="A rate-limiting relay for the Riot Games API" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=$VERSION

COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/riftrelay /riftrelay

# Nobody in particular, as a number, because there is no user table.
USER 65532:65532

# Inside a container loopback is the container's own, which nothing outside reaches. So both ports are open on all
# interfaces. Publish them on the host's loopback only (docker-compose.yml does), or set CLIENT_TOKENS: 8986 has no password.
ENV LISTEN_ADDR=* \
    ADMIN_ADDR=:8986
EXPOSE 8985 8986

HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["/riftrelay", "healthcheck"]

ENTRYPOINT ["/riftrelay"]
