package check

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/goccy/go-yaml"
)

// settings are the names that the relay knows, by the page that is generated
// from their declarations.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^### `([A-Z0-9_]+)`").FindAllStringSubmatch(read(t, "docs/settings.md"), -1) {
		known[m[1]] = true
	}
	if len(known) < 30 {
		t.Fatalf("%d settings in docs/settings.md; not read right", len(known))
	}
	return known
}

// loadCompose reads a compose file as docker compose does, in a directory with a
// .env like the example.
func loadCompose(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	return loadComposeWith(t, types.Mapping{}, profiles...)
}

func loadComposeWith(t *testing.T, env types.Mapping, profiles ...string) *types.Project {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "docker-compose.yml")
	content := strings.ReplaceAll(read(t, "docker-compose.yml"), "env_file: .env", "env_file: .env.example")
	p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: []byte(content)}},
		Environment: env,
	}, func(o *loader.Options) {
		o.Profiles = profiles
		o.SetProjectName("riftrelay", true)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeFile(t *testing.T) {
	known := settings(t)
	p := loadCompose(t, "metrics")
	if got := p.ServiceNames(); !slices.Equal(got, []string{"grafana", "prometheus", "riftrelay"}) {
		t.Errorf("services %q", got)
	}
	for name, s := range p.Services {
		for _, port := range s.Ports {
			if ip := net.ParseIP(port.HostIP); !ip.IsLoopback() {
				t.Errorf("%s publishes port %s on %q; nothing leaves this machine unasked", name, port.Published, port.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts %s: %v", name, v.Source, err)
			}
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) {
			t.Errorf("%s keeps privileges", name)
		}
	}
	for v := range p.Services["riftrelay"].Environment {
		if !known[v] {
			t.Errorf("the relay is given %s, which is no setting", v)
		}
	}
	if got := loadCompose(t).ServiceNames(); !slices.Equal(got, []string{"riftrelay"}) {
		t.Errorf("without a profile: services %q, want the relay alone", got)
	}
}

// The first version's .env has COMPOSE_PROFILES=true: it starts all three services, unless ENABLE_METRICS is false.
func TestProfilesOfTheFirstVersion(t *testing.T) {
	for enable, want := range map[string][]string{
		"": {"grafana", "prometheus", "riftrelay"}, "true": {"grafana", "prometheus", "riftrelay"}, "false": {"riftrelay"},
	} {
		if got := loadComposeWith(t, types.Mapping{"ENABLE_METRICS": enable}, "true").ServiceNames(); !slices.Equal(got, want) {
			t.Errorf("ENABLE_METRICS=%s: services %q, want %q", enable, got, want)
		}
	}
}

// What is mounted into Grafana finds the dashboards and the server of the
// compose file.
func TestProvisioning(t *testing.T) {
	p := loadCompose(t, "metrics")
	targets := map[string]string{}
	for _, v := range p.Services["grafana"].Volumes {
		targets[v.Target] = v.Source
	}
	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	decode(t, "grafana/provisioning/dashboards/dashboards.yml", &providers)
	for _, pr := range providers.Providers {
		if targets[pr.Options.Path] == "" {
			t.Errorf("dashboards are looked for in %s, where nothing is mounted", pr.Options.Path)
		}
	}
	home := p.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if home == nil || targets[filepath.Dir(*home)] == "" {
		t.Errorf("the first page is to be %v, which isn't mounted", home)
	} else if _, err := os.Stat(filepath.Join(targets[filepath.Dir(*home)], filepath.Base(*home))); err != nil {
		t.Error(err)
	}
	var sources struct{ Datasources []struct{ URL string } }
	decode(t, "grafana/provisioning/datasources/prometheus.yml", &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("sources %+v, want the server of the compose file", sources)
	}
	var scrapes struct {
		ScrapeConfigs []struct {
			JobName string `yaml:"job_name"`
		} `yaml:"scrape_configs"`
	}
	decode(t, "grafana/prometheus.yml", &scrapes)
	if len(scrapes.ScrapeConfigs) != 1 || scrapes.ScrapeConfigs[0].JobName != "riftrelay" {
		t.Errorf("jobs %+v; the alerts go by the job riftrelay", scrapes)
	}
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, file)), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
