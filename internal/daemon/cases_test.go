package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"riftrelay/riotsim"
)

// What people on Windows have: a file of keys in UTF-16, as PowerShell 5.1 writes
// it, with quotes around the key. And an api_key behind a second question mark.
func TestKeysAsPeopleWriteThem(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.txt")
	var data []byte
	for _, u := range utf16.Encode([]rune("\ufeff\"" + canary + "\"\r\n")) {
		data = append(data, byte(u), byte(u>>8))
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	edge, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1})
	p := startProcess(t, dir, "RIOT_TOKEN_FILE="+file, "UPSTREAM_URL="+upstream, "ADMIN_ADDR=off")
	if a := visit(t, p.front+"/americas/lol/match/v5/matches/by-puuid/abc/ids?start=0&count=20?api_key=RGAPI-of-the-client", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	all := edge.Requests()
	if len(all) != 1 || all[0].Header.Get("X-Riot-Token") != canary || !strings.HasSuffix(all[0].URI, "/ids?start=0&count=20") {
		t.Errorf("Riot saw %+v", all)
	}
	p.stop(t)
}
