package check

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

const chart = root + "/deploy/helm/riftrelay"

type values = map[string]any

// objects renders the chart, as "helm template" does, by kind and name.
func objects(v values) (map[string]values, error) {
	c, err := loader.LoadDir(chart)
	if err != nil {
		return nil, err
	}
	v, err = util.ToRenderValues(c, v, common.ReleaseOptions{Name: "eu", Namespace: "riot", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, v)
	if err != nil {
		return nil, err
	}
	found := map[string]values{}
	for name, content := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for d := yaml.NewDecoder(strings.NewReader(content)); ; {
			var o values
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, errors.Join(errors.New(name+":\n"+content), err)
			}
			if kind := at(o, "kind"); kind != nil {
				found[kind.(string)+"/"+at(o, "metadata", "name").(string)] = o
			}
		}
	}
	return found, nil
}

// at walks into maps by names and into lists by places.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(values)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func TestChartLints(t *testing.T) {
	for _, v := range []values{{"keys": "RGAPI-x"}, {"existingSecret": "mine", "replicas": 3, "metrics": values{"serviceMonitor": values{"enabled": true}}}} {
		for _, m := range lint.RunAll(chart, v, "riot").Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%v: %v", v, m)
			}
		}
	}
}

func TestChart(t *testing.T) {
	known := settings(t)
	o, err := objects(values{"keys": "main=RGAPI-x\n", "settings": values{"PACING": "burst", "QUEUE_TOTAL": 700}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ConfigMap/eu-riftrelay", "Deployment/eu-riftrelay", "Secret/eu-riftrelay", "Service/eu-riftrelay", "Service/eu-riftrelay-admin"}
	if got := slices.Sorted(maps.Keys(o)); !slices.Equal(got, want) {
		t.Fatalf("objects %q, want %q", got, want)
	}
	if got := at(o["ConfigMap/eu-riftrelay"], "data", "QUEUE_TOTAL"); got != "700" {
		t.Errorf("QUEUE_TOTAL is %#v; a ConfigMap has text only", got)
	}
	d := o["Deployment/eu-riftrelay"]
	if got := at(d, "spec", "strategy", "type"); got != "Recreate" {
		t.Errorf("one relay without a store is updated by %v: two would use the key at once", got)
	}
	pod := at(d, "spec", "template", "spec")
	c := at(pod, "containers", 0)
	for i := 0; at(c, "env", i) != nil; i++ {
		if name := at(c, "env", i, "name").(string); !known[name] {
			t.Errorf("the relay is given %s, which is no setting", name)
		} else if name == "LISTEN_ADDR" && at(c, "env", i, "value") != "*" {
			t.Errorf("the relay listens on %v, which the service can't reach", at(c, "env", i, "value"))
		}
	}
	ports := map[any]bool{}
	for i := 0; at(c, "ports", i) != nil; i++ {
		ports[at(c, "ports", i, "name")] = true
	}
	for _, used := range []any{
		at(c, "readinessProbe", "httpGet", "port"), at(c, "livenessProbe", "httpGet", "port"),
		at(o["Service/eu-riftrelay"], "spec", "ports", 0, "targetPort"), at(o["Service/eu-riftrelay-admin"], "spec", "ports", 0, "targetPort"),
	} {
		if !ports[used] {
			t.Errorf("the port %v is used, and there are %v", used, ports)
		}
	}
	if at(pod, "securityContext", "runAsUser") != uint64(65532) || at(c, "securityContext", "readOnlyRootFilesystem") != true {
		t.Errorf("the container may more than it needs: %v, %v", at(pod, "securityContext"), at(c, "securityContext"))
	}
	selector, labels := at(d, "spec", "selector", "matchLabels").(values), at(d, "spec", "template", "metadata", "labels").(values)
	for k, v := range selector {
		if labels[k] != v || at(o["Service/eu-riftrelay"], "spec", "selector", k) != v {
			t.Errorf("label %s: the deployment looks for %v, its pods have %v", k, v, labels[k])
		}
	}
}

func TestChartReplicas(t *testing.T) {
	o, err := objects(values{"keys": "RGAPI-x", "replicas": 3, "secrets": values{"storeURL": "redis://r:6379/0", "adminToken": "secret"}, "metrics": values{"serviceMonitor": values{"enabled": true}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := at(o["Deployment/eu-riftrelay"], "spec", "strategy", "type"); got != "RollingUpdate" {
		t.Errorf("replicas with a store are updated by %v", got)
	}
	if got := at(o["Secret/eu-riftrelay"], "stringData"); at(got, "STORE_URL") != "redis://r:6379/0" || at(got, "ADMIN_TOKEN") != "secret" {
		t.Errorf("secret %v", got)
	}
	monitor := o["ServiceMonitor/eu-riftrelay"]
	for k, v := range at(monitor, "spec", "selector", "matchLabels").(values) {
		if at(o["Service/eu-riftrelay-admin"], "metadata", "labels", k) != v {
			t.Errorf("the monitor looks for %s=%v", k, v)
		}
	}
	if o, err = objects(values{"existingSecret": "mine", "replicas": 2}); err != nil {
		t.Fatal(err)
	}
	if o["Secret/eu-riftrelay"] != nil || at(o["Deployment/eu-riftrelay"], "spec", "template", "spec", "volumes", 0, "secret", "secretName") != "mine" {
		t.Error("an existing Secret isn't used")
	}
}

// What would go wrong in the cluster is refused before.
func TestChartRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		v    values
		want string
	}{
		"no keys":                    {values{}, "keys: the Riot API keys"},
		"replicas without a store":   {values{"keys": "RGAPI-x", "replicas": 2}, "secrets.storeURL"},
		"a key among the settings":   {values{"keys": "RGAPI-x", "settings": values{"RIOT_TOKEN": "RGAPI-y"}}, "RIOT_TOKEN"},
		"a mistyped value":           {values{"keys": "RGAPI-x", "replica": 2}, "replica"},
		"a store among the settings": {values{"keys": "RGAPI-x", "settings": values{"STORE_URL": "redis://x"}}, "STORE_URL"},
	} {
		if _, err := objects(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a word of %q", name, err, c.want)
		}
	}
}
