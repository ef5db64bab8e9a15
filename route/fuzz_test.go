package route_test

import (
	"net/url"
	"strings"
	"testing"

	"riftrelay/route"
)

// refusedPath says independently of the package what may never match.
func refusedPath(path string) bool {
	if path == "" || path[0] != '/' || strings.ContainsAny(path, " ?#") {
		return true
	}
	segments := strings.Split(strings.TrimSuffix(path[1:], "/"), "/")
	for _, s := range segments {
		decoded, err := url.PathUnescape(s)
		if err != nil || decoded == "" {
			return true
		}
		for _, part := range strings.FieldsFunc(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == "." || part == ".." {
				return true
			}
		}
		for _, c := range []byte(decoded) {
			if c < 0x20 || c == 0x7f {
				return true
			}
		}
	}
	return false
}

func FuzzMatch(f *testing.F) {
	for _, path := range []string{
		"/lol/match/v5/matches/EUW1_7", "/lol/match/v5/matches/by-puuid/x/ids/", "/lol/clash/v1/tournaments/by-team",
		"/riot/account/v1/accounts/by-riot-id/%E3%81%82/a%2Fb", "/lol/%2e%2E/x", "/lol//x", "/", "", "/%6Col/x", "/a%", "/%00",
		"/lol/rso-match/v1/matches/ids", "/x/.%2e", "/lol/match/v5/matches/\x7f", "/...", strings.Repeat("/a", 20),
	} {
		f.Add("GET", "europe", path)
		f.Add("PUT", "xx1", path)
	}
	f.Add("TRACE", "euw1", "/lol/status/v4/platform-data")
	f.Add("HEAD", "%65uw1", "/lol/status/v4/platform-data")

	strict := route.Default()
	open, err := route.New(route.Options{ForwardUnknownHosts: true, ForwardUnknownPaths: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, verb, host, path string) {
		for _, table := range []*route.Table{strict, open} {
			r, err := table.Match(verb, host, path)
			checkSlash(t, table, verb, host, path, r, err)
			if err != nil {
				e := err.(*route.Error)
				if e.Status != 400 && e.Status != 404 || len(e.Detail) > 2000 || r != (route.Route{}) {
					t.Fatalf("%+v, %v", e, r)
				}
				if e.Problem == route.Malformed && !refusedPath(path) && strings.Contains(" GET HEAD POST PUT PATCH DELETE OPTIONS ", " "+verb+" ") {
					t.Fatalf("%s %q is well-formed: %v", verb, path, err)
				}
				continue
			}
			if refusedPath(path) {
				t.Fatalf("%q matched %s", path, r)
			}
			if r.Host != host {
				t.Fatalf("host %q, want %q", r.Host, host)
			}
			if r.Method.Template == route.UnknownTemplate {
				continue
			}
			got := strings.Split(strings.TrimSuffix(path, "/"), "/")
			want := strings.Split(r.Method.Template, "/")
			if len(got) != len(want) {
				t.Fatalf("%q has another number of segments than %s", path, r)
			}
			for i := range got {
				if !strings.HasPrefix(want[i], "{") && got[i] != want[i] {
					t.Fatalf("%q: segment %d is not that of %s", path, i, r)
				}
			}
		}
		if host, rest, err := strict.Split(path); err == nil && "/"+host+rest != path {
			t.Fatalf("split %q: %q, %q", path, host, rest)
		}
	})
}

// checkSlash checks that one trailing slash changes nothing.
func checkSlash(t *testing.T, table *route.Table, verb, host, path string, r route.Route, err error) {
	if path == "" || strings.HasSuffix(path, "/") {
		return
	}
	slashed, err2 := table.Match(verb, host, path+"/")
	if slashed != r || (err == nil) != (err2 == nil) || err != nil && err.(*route.Error).Problem != err2.(*route.Error).Problem {
		t.Fatalf("%q: %v, %v; with a slash %v, %v", path, r, err, slashed, err2)
	}
}

func FuzzMethodsFile(f *testing.F) {
	for _, text := range []string{
		"", "!replace\nGET /a/{b} a-v1 * key", "@x euw1,@regions\nPUT /a a-v1 @x RSO", "@a @a,@b", "GET /a a-v1 , key",
		"GET /a/{b} a-v1 euw1 key\nGET /a/{c} a-v1 euw1 key", "GET\t/\t-\t*\tkey", "\ufeff#\r\n", "!", "@", "GET /a/{ a * key",
	} {
		f.Add(text, "")
	}
	f.Add("GET /a a-v1 * key", "+xx1")
	f.Add("GET /a a-v1 zz key", "aa,bb1")
	f.Fuzz(func(t *testing.T, text, hosts string) {
		table, err := route.New(route.Options{Methods: strings.NewReader(text), Hosts: hosts})
		if err != nil {
			if strings.Count(err.Error(), "\n") > 30 {
				t.Fatal("too many problems shown")
			}
			return
		}
		// What the file says works: every method is found on each of its hosts.
		for _, m := range table.Methods() {
			at := m.Hosts
			if at == nil {
				at = table.Hosts()
			}
			for _, host := range at {
				// The sample fits no literal, so only the method itself can take it.
				path := strings.NewReplacer("{", "~{", "}", "}~").Replace(m.Template)
				if r, err := table.Match(m.Verb, host, path); err != nil || r.Method != m {
					t.Fatalf("%s at %s: %v, %v", m, host, r, err)
				}
			}
		}
	})
}
