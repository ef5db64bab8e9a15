package config

import (
	"strings"
	"testing"
	"time"

	"riftrelay"
)

// What isn't set of J gives way to what is, as in the library; what is shown is what holds.
func TestMarginsInForce(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		args        []string
		least, most time.Duration
	}{
		{nil, 150 * ms, 2 * time.Second},
		{[]string{"--margin=3ms"}, 3 * ms, 2 * time.Second},
		{[]string{"--margin=5s"}, 5 * time.Second, 5 * time.Second},
		{[]string{"--margin-max=2ms"}, 2 * ms, 2 * ms},
		{[]string{"--margin=20ms", "--margin-max=20ms"}, 20 * ms, 20 * ms},
	}
	for _, tt := range tests {
		s := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}, tt.args...).Settings
		if s.Margin != tt.least || s.MaxMargin != tt.most {
			t.Errorf("%q: %v, %v; want %v, %v", tt.args, s.Margin, s.MaxMargin, tt.least, tt.most)
		}
		for _, e := range s.Effective() {
			want, ok := map[string]time.Duration{"MARGIN": tt.least, "MARGIN_MAX": tt.most}[e.Name]
			if ok && e.Value != shortDuration(want) {
				t.Errorf("%q: %s is shown as %s", tt.args, e.Name, e.Value)
			}
		}
		l, err := riftrelay.New(s.Limiter())
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
			continue
		}
		l.Close()
	}
}

// What a setting means that nobody has set is shown as well.
func TestDescribeTellsWhatNothingMeans(t *testing.T) {
	shown := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}, "validate").Settings.Describe()
	for name, want := range map[string]string{"TUNNEL_HOSTS": "static data", "LISTEN_ADDR": "localhost", "HOSTS": "Riot's", "MARGIN_MAX": "2s", "STATE_FILE": "-"} {
		for line := range strings.Lines(shown) {
			if strings.HasPrefix(line, name+" ") && !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line, name)), want+"  ") {
				t.Errorf("%q, want %q", line, want)
			}
		}
	}
}

// status and top ask the relay that is set up here, unless told another.
func TestWhomStatusAsks(t *testing.T) {
	for _, command := range []string{"status", "top"} {
		for _, tt := range []struct {
			env  map[string]string
			args []string
			want string
		}{
			{nil, nil, "http://127.0.0.1:8986"},
			{map[string]string{"ADMIN_ADDR": ":9001"}, nil, "http://127.0.0.1:9001"},
			{map[string]string{"ADMIN_ADDR": "[::1]:9001"}, nil, "http://[::1]:9001"},
			{map[string]string{"ADMIN_ADDR": "off"}, []string{"--addr=relay:8986"}, "relay:8986"},
			{map[string]string{"CONFIG_FILE": "c.yaml"}, nil, "http://127.0.0.1:9002"},
		} {
			w := world{env: tt.env, files: map[string]string{"c.yaml": "admin_addr: 127.0.0.1:9002\nriot_token: RGAPI-x\n"}}
			in := mustParse(t, w, append([]string{command}, tt.args...)...)
			if got := in.Status.Addr; command == "status" && got != tt.want {
				t.Errorf("status %v %q: %s", tt.env, tt.args, got)
			}
			if got := in.Top.Addr; command == "top" && got != tt.want {
				t.Errorf("top %v %q: %s", tt.env, tt.args, got)
			}
		}
	}
}
