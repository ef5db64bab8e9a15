#!/usr/bin/env bash
# deploy/image.sh VERSION DIR: makes the image of the Dockerfile without Docker, a daemon or a registry.
#
# Go builds the program here, buildah does the Dockerfile's last stage with it. DIR gets riftrelay.tar, which
# "docker load" and "podman load" take, and rootfs/, what is in the image. buildah's own files go to DIR too.
set -euo pipefail
version=${1:?usage: deploy/image.sh VERSION DIR}
mkdir -p "${2:?usage: deploy/image.sh VERSION DIR}"
dir=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

authorities=${CA_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
built=$dir/build # stands for the Dockerfile's stage of that name
mkdir -p "$built/out" "$built/etc/ssl/certs"
cp "$authorities" "$built/etc/ssl/certs/ca-certificates.crt"
CGO_ENABLED=0 GOOS=linux \
	go build -trimpath -buildvcs=false \
	-ldflags "-s -w -X riftrelay/internal/config.version=$version" \
	-o "$built/out/riftrelay" ./cmd/riftrelay

tool() { buildah --storage-driver vfs --root "$dir/store" --runroot "$dir/run" "$@"; }

# As Docker's format, which knows HEALTHCHECK. chroot: no namespaces needed.
tool bud --quiet --isolation chroot --format docker --build-context build="$built" \
	--build-arg VERSION="$version" --build-arg TARGETOS=linux --build-arg TARGETARCH="$(go env GOARCH)" \
	--tag "riftrelay:$version" --file Dockerfile . >/dev/null

rm -rf "$dir/rootfs" "$dir/riftrelay.tar"
container=$(tool from --pull-never "riftrelay:$version")
cp -a "$(tool mount "$container")" "$dir/rootfs"
tool umount "$container" >/dev/null
tool rm "$container" >/dev/null
tool push --quiet "riftrelay:$version" "docker-archive:$dir/riftrelay.tar:riftrelay:$version"
