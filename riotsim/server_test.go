package riotsim

import (
	"fmt"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a TB that notes what it is told. Fatalf panics, as it must not return.
type recorder struct {
	failed   []string
	cleanups []func()
}

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }

// fatal returns what f ended its test with; "" = nothing.
func fatal(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func told(t *testing.T, srv *TestServer) string {
	t.Helper()
	var r recorder
	srv.AssertNoViolations(&r)
	return strings.Join(r.failed, "\n")
}

func TestNewServerAppliesOptionsInTurnAndIsClosed(t *testing.T) {
	for want, options := range map[string][]func(*Config){
		"100:120,20:1":     nil,
		"100:120,20:1 dev": {ProductionKey, DevKey},
		"30000:600,500:10": {DevKey, ProductionKey},
		"7:3":              {ProductionKey, AppLimit("7:3")},
		"20:1":             {func(c *Config) { c.Keys = map[string]string{"k": "20:1"} }},
	} {
		srv := NewServer(t, options...)
		_, h, _, err := get(t, srv.Client(), request(t, t.Context(), euw+status))
		if got := h.Get("X-App-Rate-Limit"); err != nil || got != strings.TrimSuffix(want, " dev") {
			t.Errorf("application limit %q, %v; want %q", got, err, want)
		}
	}
	srv := NewServer(t, MethodLimit("lol-status-v4", "3:4"))
	if _, h, _, _ := get(t, srv.Client(), request(t, t.Context(), euw+status)); h.Get("X-Method-Rate-Limit") != "3:4" {
		t.Errorf("method limit: %v", h)
	}
	if got := fatal(func() { NewServer(&recorder{}, AppLimit("20;1")) }); !strings.Contains(got, `"20;1"`) {
		t.Errorf("a wrong limit ended the test with %q", got)
	}
	var r recorder
	srv = NewServer(&r)
	url := srv.URL()
	if again := srv.URL(); again != url {
		t.Errorf("URL is %s, then %s", url, again)
	}
	if code, _, _, err := get(t, http.DefaultClient, request(t, t.Context(), url+"/euw1"+status)); code != 200 {
		t.Error(code, err)
	}
	for _, f := range r.cleanups {
		f()
	}
	if _, _, _, err := get(t, http.DefaultClient, request(t, t.Context(), url+"/euw1"+status)); err == nil {
		t.Error("still there after the test")
	}
	if len(r.failed) > 0 {
		t.Error(r.failed)
	}
}

// Time stands still in a bubble while a socket waits: a test that asks for one must end with a reason.
func TestURLInABubbleEndsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		if got := fatal(func() { NewServer(r).URL() }); !strings.Contains(got, "Server.Client") {
			t.Errorf("ended with %q", got)
		}
		done := make(chan string)
		go func() { done <- fatal(func() { NewServer(r).URL() }) }()
		if got := <-done; got == "" {
			t.Error("another goroutine of the bubble got a URL")
		}
	})
	if inBubble() {
		t.Error("no bubble here")
	}
}

// A program that uses this package, to be tested or to simulate, doesn't link package testing.
func TestTestingIsNotLinked(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if !strings.HasSuffix(name, "_test.go") && strings.HasPrefix(i.Path.Value, `"testing`) {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}

func TestScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := NewServer(t, AppLimit("100:1"))
		c := srv.Client()
		c.Timeout = 10 * time.Second
		calls := func(url string, n int) string {
			var got []string
			for range n {
				code, h, body, err := get(t, c, request(t, t.Context(), url))
				text := fmt.Sprint(code)
				for _, v := range []string{h.Get("X-Rate-Limit-Type"), h.Get("Retry-After"), h.Get("Server"), body} {
					if strings.HasPrefix(v, "<html>") {
						v = "page"
					}
					if v != "" && !strings.HasPrefix(v, "{") && len(v) < 20 {
						text += " " + v
					}
				}
				if err != nil {
					text = "broken"
				}
				got = append(got, text)
			}
			return strings.Join(got, ", ")
		}
		const plain = "https://euw1.api.riotgames.com" + status
		srv.Script("euw1", "lol-status-v4",
			RateLimited(Application, 0), RateLimited(Method, 1500*ms), RateLimited(Service, time.Second),
			RateLimited(Server, 5*time.Second), RateLimited(Untyped, 0), RateLimited(None, time.Second), Pass(),
			Repeat(2, Status(503)), Gateway(403), Late(time.Minute), Reset(), JSON("[1]"))
		srv.Script("euw1", "", Status(500)) // after the others
		if got := calls("https://na1.api.riotgames.com"+status, 1); got != "200" {
			t.Errorf("another host: %s", got)
		}
		want := "429 application, 429 method 2, 429 service 1, 429 server 5, 429, 429 1, 200, 503, 503, 403 cloudflare page, broken, broken, 200 [1], 500, 200"
		if got := calls(plain, 15); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if text := told(t, srv); text != "" {
			t.Errorf("scripted answers are violations:\n%s", text)
		}
		if len(srv.faults) != 0 {
			t.Errorf("%d answers are left of a script that is over", len(srv.faults))
		}
		for _, wrong := range []func(){
			func() { srv.Script("euw1", "nothing-v1", Pass()) },
			func() { srv.Script("euw1", "", Status(42)) },
			func() { srv.AssertCalls(srv.t, "", "/lol/status/v4/platform", 1) },
			func() { srv.UseElsewhere("k", "euw1", "nothing-v1", 1) },
			func() { srv.UseElsewhere("k", "euw1", "", 1) },
			func() { srv.UseElsewhere("", "euw1", "lol-status-v4", 1) },
		} {
			srv.t = &recorder{}
			if fatal(wrong) == "" {
				t.Error("no error")
			}
		}
	})
}

func TestMethodsAreNamedWithOrWithoutGET(t *testing.T) {
	e := newEdge(t, Config{})
	for _, good := range []string{"", "lol-status-v4", status, "GET " + status, putCode} {
		if err := e.checkMethod(good); err != nil {
			t.Error(err)
		}
	}
	err := e.checkMethod("GET /lol/status/v4/platform")
	if err == nil || !strings.HasSuffix(err.Error(), "the nearest is "+status) {
		t.Error(err)
	}
}
