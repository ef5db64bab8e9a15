package check

import (
	"archive/tar"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"riftrelay/riotsim"
)

// The image of the Dockerfile is made without a daemon, and what is in it runs
// with nothing else around it, as nobody.
func TestImage(t *testing.T) {
	need(t, "buildah", "buildah")
	if os.Getuid() != 0 {
		if os.Getenv("RIFTRELAY_REQUIRE") == "all" {
			t.Fatal("the image can be entered as root only")
		}
		t.Skip("the image can be entered as root only")
	}
	edge := riotsim.NewServer(t, riotsim.ProductionKey)
	riot := httptest.NewTLSServer(edge)
	t.Cleanup(riot.Close)
	dir := t.TempDir()
	authorities := filepath.Join(dir, "authorities.pem")
	pemBlock := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: riot.Certificate().Raw})
	if err := os.WriteFile(authorities, pemBlock, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), root+"/deploy/image.sh", "v0.0.1-check", dir)
	build.Env = append(os.Environ(), "CA_CERTIFICATES="+authorities)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("image.sh: %v\n%s", err, said)
	}

	files := filepath.Join(dir, "rootfs")
	if got := regular(t, files); !slices.Equal(got, []string{"etc/ssl/certs/ca-certificates.crt", "riftrelay"}) {
		t.Errorf("in the image: %q", got)
	}
	image := configOf(t, filepath.Join(dir, "riftrelay.tar"))
	if image.User != "65532:65532" || !slices.Equal(image.Entrypoint, []string{"/riftrelay"}) || !slices.Equal(image.Healthcheck.Test, []string{"CMD", "/riftrelay", "healthcheck"}) {
		t.Errorf("the image runs %q as %q, and is asked by %q", image.Entrypoint, image.User, image.Healthcheck.Test)
	}

	// What Docker would start, with the environment of the image and that of the user.
	inside := func(vars []string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/riftrelay", args...)
		cmd.Dir = "/"
		cmd.Env = append(slices.Clone(image.Env), vars...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: files, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	if out, err := inside(nil, "--version").Output(); err != nil || !strings.Contains(string(out), "v0.0.1-check") {
		t.Errorf("--version: %q %v", out, err)
	}
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(image.Env, "LISTEN_ADDR=*") {
		t.Errorf("outside the container nothing reaches the relay: %q", image.Env)
	}
	vars := []string{"RIOT_TOKEN=RGAPI-check", "UPSTREAM_URL=" + riot.URL, "PORT=" + port, "ADMIN_ADDR=" + freeAddr(t)}
	relay := inside(vars)
	log := &lockedBuffer{}
	relay.Stderr = log
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		relay.Process.Kill()
		relay.Wait()
		if t.Failed() {
			t.Logf("the relay said:\n%s", log)
		}
	})
	eventually(t, "the health check", func() bool { return inside(vars, "healthcheck").Run() == nil })
	// Over TLS, by the authorities in the image.
	resp, err := http.Get("http://" + addr + "/euw1/lol/status/v4/platform-data")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Errorf("a call: %d %s", resp.StatusCode, body)
	}
	edge.AssertCalls(t, "euw1", "", 1)
}

func regular(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, strings.TrimPrefix(name, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// imageConfig is what an image says of how it is run.
type imageConfig struct {
	User            string
	Env, Entrypoint []string
	Healthcheck     struct{ Test []string }
}

// configOf finds the image's configuration in what "docker load" takes.
func configOf(t *testing.T, archive string) imageConfig {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	documents := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".json") {
			if documents[h.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	var manifest []struct{ Config string }
	if err := json.Unmarshal(documents["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest %s: %v", documents["manifest.json"], err)
	}
	var image struct {
		Config imageConfig `json:"config"`
	}
	if err := json.Unmarshal(documents[manifest[0].Config], &image); err != nil {
		t.Fatal(err)
	}
	return image.Config
}
