package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// compose is what the tests look at of a compose file.
type compose struct {
	Name     string
	Services map[string]struct {
		Image       string
		Environment map[string]string
		Configs     []struct{ Source string }
		DependsOn   []string `yaml:"depends_on"`
		Ports       []string
		ReadOnly    bool `yaml:"read_only"`
		HealthCheck struct{ Test []string }
	}
	Configs map[string]struct{ Content string }
}

// An image runs in a container, whose loopback nothing outside reaches.
func TestTheImageListensOnAllInterfaces(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^ENV LISTEN_ADDR=\* `).Match(text) {
		t.Error("the Dockerfile doesn't set LISTEN_ADDR")
	}
}

// The compose file of the relay's first version, in a clone of this one, finds what it mounts. Its project is the same, so
// that the containers of this one replace its.
func TestLayoutOfTheFirstVersion(t *testing.T) {
	for _, file := range []string{
		".env.example", "docker-compose.yml", "Dockerfile", "grafana/prometheus.yml", "grafana/dashboards/riftrelay.json",
		"grafana/provisioning/dashboards/dashboards.yml", "grafana/provisioning/datasources/prometheus.yml",
	} {
		if _, err := os.Stat("../../" + file); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c compose
	if err := yaml.Unmarshal(text, &c); err != nil || c.Name != "riftrelay" {
		t.Errorf("the project is %q %v", c.Name, err)
	}
	check := c.Services["riftrelay"].HealthCheck.Test
	if !slices.Equal(check, []string{"CMD", "/riftrelay", "healthcheck"}) {
		t.Errorf("health check %q: the image has no shell", check)
	}
	image, err := os.ReadFile("../../Dockerfile")
	if want := `CMD ["` + strings.Join(check[1:], `", "`) + `"]`; err != nil || !strings.Contains(string(image), want) {
		t.Errorf("the image's health check isn't %s %v", want, err)
	}
}

// The compose files say nothing that the program doesn't know.
func TestComposeFiles(t *testing.T) {
	known := map[string]bool{}
	var d draft
	for _, s := range declare(&Invocation{Settings: &Settings{}}, &d) {
		known[s.name] = true
	}
	for _, file := range []string{"docker-compose.yml", "docker-compose.cluster.yml"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		var c compose
		if err := yaml.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		relays := 0
		for name, s := range c.Services {
			if !s.ReadOnly && file == "docker-compose.cluster.yml" {
				t.Errorf("%s: %s may write", file, name)
			}
			for _, other := range s.DependsOn {
				if _, ok := c.Services[other]; !ok {
					t.Errorf("%s: %s depends on %s, which isn't there", file, name, other)
				}
			}
			for _, f := range s.Configs {
				if c.Configs[f.Source].Content == "" {
					t.Errorf("%s: %s lacks the file %s", file, name, f.Source)
				}
			}
			if !strings.HasPrefix(s.Image, "riftrelay:") {
				continue
			}
			relays++
			if at := s.Environment["LISTEN_ADDR"]; at != everyone {
				t.Errorf("%s: %s listens on %q, which other containers can't reach", file, name, at)
			}
			for env := range s.Environment {
				if !known[env] {
					t.Errorf("%s: %s has %s, which is no setting", file, name, env)
				}
			}
		}
		if want := map[string]int{"docker-compose.yml": 1, "docker-compose.cluster.yml": 3}[file]; relays != want {
			t.Errorf("%s has %d relays, want %d", file, relays, want)
		}
		if file != "docker-compose.cluster.yml" {
			continue
		}
		if url := c.Services["relay-1"].Environment["STORE_URL"]; !strings.HasSuffix(url, "@redis:6379") || len(c.Services["redis"].Ports) > 0 {
			t.Errorf("STORE_URL %q; redis must be there, for the relays alone", url)
		}
		for _, relay := range []string{"relay-1:8985", "relay-2:8985", "relay-3:8985", "/readyz"} {
			if !strings.Contains(c.Configs["caddyfile"].Content, relay) {
				t.Errorf("the balancer doesn't know %s", relay)
			}
		}
		rights := regexp.MustCompile(`resetkeys .*?\+ping`)
		doc, err := os.ReadFile("../../docs/operations.md")
		if err != nil {
			t.Fatal(err)
		}
		words := func(s []byte) []string { return strings.Fields(string(s)) }
		if a, b := words(rights.Find([]byte(c.Configs["users"].Content))), words(rights.Find(doc)); len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("the user of Redis has the rights\n%q, docs/operations.md has\n%q", a, b)
		}
	}
}
