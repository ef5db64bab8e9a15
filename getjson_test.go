package riftrelay_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/proxy"
	"riftrelay/riotsim"
)

// canned answers every call alike.
type canned struct {
	status int
	header http.Header
	body   string
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	h := c.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: c.status, Header: h, Body: io.NopCloser(strings.NewReader(c.body)), Request: req}, nil
}

func TestGetJSONErrors(t *testing.T) {
	relay := func(reason string, more ...string) http.Header {
		h := http.Header{"X-Riftrelay-Source": {"relay"}, "X-Riftrelay-Reason": {reason}, "X-Rate-Limit-Type": {"service"}}
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		canned
		want riftrelay.APIError
		is   error
		text string
	}{
		"the older schema (R22)": {
			canned: canned{404, http.Header{"X-Riftrelay-Source": {"riot"}}, `{"status":{"message":"Data not found - summoner not found","status_code":404}}`},
			is:     riftrelay.ErrNotFound,
			want:   riftrelay.APIError{Status: 404, Message: "Data not found - summoner not found"},
			text:   "riftrelay: https://relay/x: 404 Data not found - summoner not found",
		},
		"the newer schema (R22)": {
			canned: canned{400, nil, `{"httpStatus":400,"errorCode":"BAD_REQUEST","message":"Exception decrypting x"}`},
			want:   riftrelay.APIError{Status: 400, Message: "Exception decrypting x"},
			text:   "riftrelay: https://relay/x: 400 Exception decrypting x",
		},
		"a key that expired": {
			canned: canned{403, http.Header{"X-Riftrelay-Source": {"riot"}, "X-Riftrelay-Key": {"main"}}, `{"status":{"message":"Forbidden","status_code":403}}`},
			want:   riftrelay.APIError{Status: 403, Message: "Forbidden", Key: "main"},
			is:     riftrelay.ErrForbidden,
			text:   "riftrelay: https://relay/x: 403 Forbidden",
		},
		"a key that Riot doesn't know": {canned: canned{401, nil, ""}, want: riftrelay.APIError{Status: 401}, is: riftrelay.ErrKeyRejected},
		"a relay that wants a token":   {canned: canned{401, relay("unauthorized"), ""}, want: riftrelay.APIError{Status: 401, FromRelay: true, Reason: "unauthorized"}},
		"a gateway's page": {
			canned: canned{502, nil, `<html>Bad Gateway</html>`},
			want:   riftrelay.APIError{Status: 502},
			text:   "riftrelay: https://relay/x: 502 Bad Gateway",
		},
		"a page without an end": {
			canned: canned{503, nil, strings.Repeat("x", 1<<20)},
			want:   riftrelay.APIError{Status: 503},
		},
		"a method's 429": {
			canned: canned{429, http.Header{"X-Riftrelay-Source": {"riot"}, "X-Rate-Limit-Type": {"method"}, "Retry-After": {"7"}}, `{"status":{"message":"Rate limit exceeded","status_code":429}}`},
			want:   riftrelay.APIError{Status: 429, Message: "Rate limit exceeded", Kind: riftrelay.LimitMethod, RetryAfter: 7 * time.Second},
			text:   "riftrelay: https://relay/x: 429 Rate limit exceeded (limit: method, retry in 7s)",
		},
		"a 429 without a type": {
			canned: canned{429, nil, ""},
			want:   riftrelay.APIError{Status: 429, Kind: "none"},
			text:   "riftrelay: https://relay/x: 429 Too Many Requests (limit: none)",
		},
		"the relay's own 429": {
			canned: canned{429, relay("deadline", "Retry-After", "119"), `{"status":{"message":"no room","status_code":429}}`},
			want:   riftrelay.APIError{Status: 429, Message: "no room", FromRelay: true, Reason: riftrelay.ReasonDeadline, RetryAfter: 119 * time.Second},
			is:     riftrelay.ErrNotInTime,
			text:   "riftrelay: https://relay/x: 429 no room (said the relay: deadline, retry in 1m59s)",
		},
		"the relay, with a reason of its own": {
			canned: canned{504, relay("upstream_timeout"), ""},
			want:   riftrelay.APIError{Status: 504, FromRelay: true, Reason: "upstream_timeout"},
		},
	} {
		client := &http.Client{Transport: c.canned}
		_, err := riftrelay.GetJSON[any](t.Context(), client, "https://relay/x?api_key=CANARY")
		var got *riftrelay.APIError
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.want.URL = "https://relay/x"
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, *got, c.want)
		}
		if c.text != "" && err.Error() != c.text {
			t.Errorf("%s: %q\nwant %q", name, err, c.text)
		}
		for _, sentinel := range []error{riftrelay.ErrNotFound, riftrelay.ErrKeyRejected, riftrelay.ErrForbidden, riftrelay.ErrNotInTime, riftrelay.ErrQueueFull, riftrelay.ErrNoKey, riftrelay.ErrClosed} {
			if errors.Is(err, sentinel) != (sentinel == c.is) {
				t.Errorf("%s: errors.Is %v: %v", name, sentinel, errors.Is(err, sentinel))
			}
		}
		if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: the query is in %q", name, err)
		}
	}
}

func TestGetJSONBodies(t *testing.T) {
	type account struct{ GameName string }
	get := func(c canned) (account, error) {
		return riftrelay.GetJSON[account](t.Context(), &http.Client{Transport: c}, "https://relay/x")
	}
	if a, err := get(canned{200, nil, `{"puuid":"p","gameName":"Faker"}`}); err != nil || a.GameName != "Faker" {
		t.Errorf("%+v, %v", a, err)
	}
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	z.Write([]byte(`{"gameName":"Faker"}`))
	z.Close()
	if a, err := get(canned{200, http.Header{"Content-Encoding": {"gzip"}}, packed.String()}); err != nil || a.GameName != "Faker" {
		t.Errorf("packed: %+v, %v", a, err)
	}
	for name, c := range map[string]canned{
		"a page":         {200, nil, "<html>"},
		"another type":   {200, nil, `{"gameName":1}`},
		"two values":     {200, nil, `{"gameName":"a"}{"gameName":"b"}`},
		"half a value":   {200, nil, `{"gameName":"a"`},
		"nothing":        {200, nil, ""},
		"not so packed":  {200, http.Header{"Content-Encoding": {"gzip"}}, "{}"},
		"without an end": {200, nil, `"` + strings.Repeat("x", 33<<20)},
	} {
		a, err := get(c)
		var api *riftrelay.APIError
		if err == nil || errors.As(err, &api) || a != (account{}) || len(err.Error()) > 300 || !strings.Contains(err.Error(), "https://relay/x") {
			t.Errorf("%s: %+v, %.300v", name, a, err)
		}
	}
	// A bomb is read as far as the bound, and no further.
	var bomb strings.Builder
	z = gzip.NewWriter(&bomb)
	for range 64 {
		z.Write([]byte(strings.Repeat(" ", 1<<20)))
	}
	z.Close()
	if _, err := get(canned{200, http.Header{"Content-Encoding": {"gzip"}}, bomb.String()}); err == nil || !strings.Contains(err.Error(), "33554432 bytes") {
		t.Errorf("a bomb: %v", err)
	}
	if _, err := riftrelay.GetJSON[account](t.Context(), http.DefaultClient, "ht tp://"); err == nil {
		t.Error("no URL: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := riftrelay.GetJSON[account](ctx, http.DefaultClient, "http://localhost:1/"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The same program works with a Transport and with a relay, and can tell what
// each refused.
func TestGetJSONByTransportAndByRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Gzip: true, AppLimits: []riotsim.Rule{{Limit: "2:10"}}}, riftrelay.Config{})
		relay, err := proxy.New(proxy.Options{Transport: s.client.Transport, Table: table})
		if err != nil {
			t.Fatal(err)
		}
		throughRelay := &http.Client{Transport: inMemory{relay}}
		for _, c := range []struct {
			client *http.Client
			url    string
		}{{s.client, "https://euw1.api.riotgames.com"}, {throughRelay, "http://localhost:8985/euw1"}} {
			if _, err := riftrelay.GetJSON[json.RawMessage](t.Context(), c.client, c.url+"/lol/status/v4/platform-data"); err != nil {
				t.Errorf("%s: %v", c.url, err)
			}
			_, err := riftrelay.GetJSON[any](t.Context(), c.client, c.url+"/lol/nothing/v1")
			if !errors.Is(err, riftrelay.ErrUnknownRoute) {
				t.Errorf("%s, an unknown path: %v", c.url, err)
			}
			time.Sleep(20 * time.Second)
		}
		s.limiter.Close()
		for _, c := range []struct {
			client *http.Client
			url    string
		}{{s.client, "https://euw1.api.riotgames.com"}, {throughRelay, "http://localhost:8985/euw1"}} {
			if _, err := riftrelay.GetJSON[any](t.Context(), c.client, c.url+"/lol/status/v4/platform-data"); !errors.Is(err, riftrelay.ErrClosed) {
				t.Errorf("%s, closed: %v", c.url, err)
			}
		}
	})
}

// inMemory calls a handler without a connection.
type inMemory struct{ http.Handler }

func (h inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	r := req.Clone(req.Context())
	r.RequestURI = req.URL.RequestURI()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}
