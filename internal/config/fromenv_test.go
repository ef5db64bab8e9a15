package config

import (
	"slices"
	"strings"
	"testing"
)

// fromEnvParts returns what --from-env prints, by title.
func fromEnvParts(t *testing.T, file string, w world) map[string][]string {
	t.Helper()
	text, err := fromEnv(file, w.Env())
	if err != nil {
		t.Error(err)
	}
	if strings.Contains(text, "CANARY") {
		t.Errorf("it prints a key:\n%s", text)
	}
	parts, title := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if entry, ok := strings.CutPrefix(line, "  "); ok {
			parts[title] = append(parts[title], entry)
		} else {
			title = line
		}
	}
	return parts
}

// A setting that is adjusted is among the changes only.
func TestFromEnvSaysEachThingOnce(t *testing.T) {
	parts := fromEnvParts(t, "old.env", world{files: map[string]string{"old.env": strings.Join([]string{
		"RIOT_TOKEN=RGAPI-CANARY-0,RGAPI-CANARY-1,RGAPI-CANARY-0,", "PORT=9000", "ADDITIONAL_WINDOW_SIZE=0", "ADMISSION_TIMEOUT=240h", "QUEUE_CAPACITY=99999999999",
		"UPSTREAM_TIMEOUT=0", "ENABLE_METRICS=true", "RATE_BUDGET_worker=0.8", "RATE_BUDGET_Worker=0.5", "RATE_BUDGET_worker:lol/match/v5/matches/{matchId}=0.6",
		"RATE_BUDGET_worker:lol/nothing/v1/y=0.6", "RATE_BUDGET_worker_OVERRIDES=lol/nothing/v1/x=0.1,kr:lol/match/v5/matches/{matchId}/timeline=0.2,",
		"COMPOSE_PROFILES=true", "RIFTRELAY_IMAGE=some/image",
	}, "\n")}})
	slices.Sort(parts["Stays"])
	if want := []string{
		"COMPOSE_PROFILES = true, which docker compose reads", "ENABLE_METRICS = true", "PORT = 9000", "RATE_BUDGET_Worker = 0.5", "RATE_BUDGET_worker = 0.8",
		"RATE_BUDGET_worker:lol/match/v5/matches/{matchId} = 0.6", "RATE_BUDGET_worker_OVERRIDES = kr:lol/match/v5/matches/{matchId}/timeline=0.2", "UPSTREAM_TIMEOUT = 0",
	}; !slices.Equal(parts["Stays"], want) {
		t.Errorf("stays\n%s\nwant\n%s", strings.Join(parts["Stays"], "\n"), strings.Join(want, "\n"))
	}
	changes := strings.Join(parts["Changes"], "\n")
	for _, part := range []string{
		"key 2 is the same as key 0", `MARGIN is "0": 1ms is used`, "168h is used", "10000000 is used", `no method "/lol/nothing/v1/x"`, `no method "/lol/nothing/v1/y"`,
		"publishes port 9000", "RIFTRELAY_IMAGE is not read",
	} {
		if strings.Count(changes, part) != 1 {
			t.Errorf("changes don't have %q once:\n%s", part, changes)
		}
	}
	for _, name := range []string{"UPSTREAM_TIMEOUT", "ENABLE_METRICS"} {
		if strings.Contains(changes, name) {
			t.Errorf("%s is no change:\n%s", name, changes)
		}
	}
}

// Compose has several forms for one thing, and ${NAME} is the shell's before .env's.
func TestFromEnvReadsComposeFiles(t *testing.T) {
	want := []string{"ADMISSION_TIMEOUT = 30s", "ENABLE_METRICS = true", "PORT = 8985", "RIOT_TOKEN = key0=(hidden)"}
	for name, text := range map[string]string{
		"a map":      "services:\n  riftrelay:\n    environment: {RIOT_TOKEN: '${KEY}', PORT: 8985, ADMISSION_TIMEOUT: '${WAIT:-30s}', ENABLE_METRICS: true}\n",
		"a list":     "services:\n  relay:\n    image: some/riftrelay:1\n    environment:\n      - RIOT_TOKEN=${KEY}\n      - PORT=8985\n      - ADMISSION_TIMEOUT=30s\n      - ENABLE_METRICS\n  other: {image: x}\n",
		"an anchor":  "x-env: &env\n  RIOT_TOKEN: ${KEY}\n  ADMISSION_TIMEOUT: 30s\nservices:\n  riftrelay:\n    environment:\n      <<: *env\n      PORT: 8985\n      ENABLE_METRICS:\n",
		"a file":     "services:\n  riftrelay:\n    env_file: relay.env\n    environment: {ADMISSION_TIMEOUT: 30s}\n",
		"more files": "services:\n  riftrelay:\n    env_file: [relay.env, {path: none.env, required: false}, {path: wait.env}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			parts := fromEnvParts(t, "docker-compose.yml", world{
				env: map[string]string{"KEY": "RGAPI-CANARY-1", "ENABLE_METRICS": "true"},
				files: map[string]string{
					"docker-compose.yml": text, ".env": "KEY=\nENABLE_METRICS=false\n", "wait.env": "ADMISSION_TIMEOUT=30s\n",
					"relay.env": "RIOT_TOKEN=RGAPI-CANARY-2\nENABLE_METRICS=true\nPORT=8985\nADMISSION_TIMEOUT=1s\n",
				},
			})
			slices.Sort(parts["Stays"])
			if !slices.Equal(parts["Stays"], want) {
				t.Errorf("stays %q, want %q", parts["Stays"], want)
			}
		})
	}
}
