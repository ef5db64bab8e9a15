package riotsim

import (
	"io"
	"net/http"
	"testing"
	"time"
)

func BenchmarkArrive(b *testing.B) {
	for _, bc := range []struct {
		name string
		cfg  Config
	}{
		{"fixed", Config{}},
		{"intervals", Config{Intervals: true}},
		{"sliding", Config{Windows: Sliding, Intervals: true}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			bc.cfg.Keys = map[string]string{"k": Large}
			e := newEdge(b, bc.cfg)
			call := Call{Key: "k", Host: "euw1", Method: method(b, status)}
			b.ReportAllocs()
			at := start
			for b.Loop() {
				at = at.Add(3334 * time.Microsecond) // a full key: 180 000 calls in 600 s, all but evenly
				if a := e.Arrive(at, call); a.Status != 200 {
					b.Fatalf("%+v", a)
				}
			}
		})
	}
}

func BenchmarkRoundTripper(b *testing.B) {
	for name, body := range map[string]Body{"tiny": Tiny, "plausible": Plausible} {
		b.Run(name, func(b *testing.B) {
			e := newEdge(b, Config{Body: body, Keys: map[string]string{"k": NoLimit}, MethodLimits: []Rule{{Limit: "1000000:1"}}})
			rt := e.RoundTripper()
			req, _ := http.NewRequest("GET", "http://europe.api.riotgames.com/lol/match/v5/matches/EUW1_7", nil)
			req.Header.Set("X-Riot-Token", "k")
			b.ReportAllocs()
			for b.Loop() {
				resp, err := rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
			}
		})
	}
}

func BenchmarkHandlerOverPipe(b *testing.B) {
	e, l := newEdge(b, Config{Body: Tiny, Keys: map[string]string{"k": NoLimit}}), Pipe()
	go e.Serve(l)
	defer e.Close()
	c := &http.Client{Transport: &http.Transport{DialContext: l.Dial, MaxIdleConnsPerHost: 64}}
	b.RunParallel(func(pb *testing.PB) {
		req, _ := http.NewRequest("GET", euw+status, nil)
		req.Header.Set("X-Riot-Token", "k")
		for pb.Next() {
			resp, err := c.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}
