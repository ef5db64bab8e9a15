package riftrelay

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"riftrelay/internal/limit"
)

// Bounds on what GetJSON reads. A timeline, the longest answer of Riot's, has
// some 1 MB.
const (
	maxJSON  = 32 << 20
	maxError = 64 << 10
	maxSaid  = 500 // bytes of a message that are kept
)

// GetJSON gets a URL with a client and returns the answer's JSON as a T:
//
//	type account struct{ PUUID, GameName, TagLine string }
//	a, err := riftrelay.GetJSON[account](ctx, client, "https://europe.api.riotgames.com/riot/account/v1/accounts/by-riot-id/Faker/KR1")
//
// The client has a Transport, or is any other one and the URL is a relay's,
// http://localhost:8985/europe/riot/…. An answer that isn't 2xx is an
// *APIError. A call that was not admitted is a *RejectedError of a Transport's
// or an *APIError of a relay's, and both match ErrNotInTime and its like. The
// body is closed and at most 32 MiB of it are read.
func GetJSON[T any](ctx context.Context, client *http.Client, url string) (T, error) {
	var v T
	data, err := getJSON(ctx, client, url)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		var none T // not half of one
		return none, fmt.Errorf("riftrelay: %s: the answer is no JSON for a %T: %w", placeOf(url), v, err)
	}
	return v, nil
}

// placeOf is a URL for messages, without what a query may hold.
func placeOf(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

func getJSON(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header["Accept-Encoding"] = []string{"gzip"} // NewBase leaves bodies as they are
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	good, most := resp.StatusCode/100 == 2, int64(maxError)
	if good {
		most = maxJSON
	}
	data, err := readBody(resp, most)
	switch {
	case !good:
		return nil, newAPIError(url, resp, data)
	case err != nil:
		return nil, fmt.Errorf("riftrelay: %s: %w", placeOf(url), err)
	}
	return data, nil
}

// readBody reads up to most bytes of a body, unpacked; it returns those also when
// there are more, which is an error.
func readBody(resp *http.Response, most int64) ([]byte, error) {
	body := io.Reader(resp.Body)
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = z
	}
	data, err := io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && int64(len(data)) > most {
		return data[:most], fmt.Errorf("the answer has more than %d bytes", most)
	}
	return data, err
}

// What X-RiftRelay-Source says.
const (
	sourceOfRiot  = "riot"
	sourceOfRelay = "relay"
)

// APIError is an answer of Riot's, or of a relay's, that isn't 2xx.
type APIError struct {
	URL     string // without its query
	Status  int
	Message string    // in the answer's own words; empty where it has none that can be read
	Kind    LimitKind // of a 429 of Riot's: application, method, service …
	Key     string    // name of the key that Riot answered on; empty where that isn't known

	// FromRelay says that a relay refused the call, and Reason why: its
	// X-RiftRelay-Reason.
	FromRelay bool
	Reason    Reason

	// RetryAfter is how long from the answer on to wait. 0 means that it
	// doesn't say.
	RetryAfter time.Duration
}

// Error says who answered what.
func (e *APIError) Error() string {
	s := "riftrelay: " + e.URL + ": " + fmt.Sprint(e.Status)
	if e.Message != "" {
		s += " " + e.Message
	} else if text := http.StatusText(e.Status); text != "" {
		s += " " + text
	}
	var more []string
	if e.FromRelay {
		more = append(more, "said the relay: "+string(e.Reason))
	} else if e.Kind != "" {
		more = append(more, "limit: "+string(e.Kind))
	}
	if e.RetryAfter > 0 {
		more = append(more, "retry in "+e.RetryAfter.String())
	}
	if len(more) > 0 {
		s += " (" + strings.Join(more, ", ") + ")"
	}
	return s
}

// Is matches the sentinel of a relay's Reason, as a RejectedError does, and of
// Riot's answers ErrNotFound, ErrKeyRejected and ErrForbidden.
func (e *APIError) Is(target error) bool {
	if e.FromRelay {
		return errors.Is(&RejectedError{Reason: e.Reason}, target)
	}
	switch e.Status {
	case http.StatusNotFound:
		return target == ErrNotFound
	case http.StatusUnauthorized:
		return target == ErrKeyRejected
	case http.StatusForbidden:
		return target == ErrForbidden
	}
	return false
}

func newAPIError(url string, resp *http.Response, body []byte) *APIError {
	e := &APIError{
		URL: placeOf(url), Status: resp.StatusCode, Message: messageOf(body),
		Key: resp.Header.Get("X-Riftrelay-Key"), FromRelay: resp.Header.Get("X-Riftrelay-Source") == sourceOfRelay,
	}
	e.RetryAfter, _ = limit.ParseRetryAfter(resp.Header["Retry-After"], time.Now())
	switch {
	case e.FromRelay:
		e.Reason = Reason(resp.Header.Get("X-Riftrelay-Reason"))
	case e.Status == http.StatusTooManyRequests:
		e.Kind = limitKind(limit.KindOf(resp.Header.Get("X-Rate-Limit-Type")))
	}
	return e
}

// messageOf finds the message in either schema of Riot's errors (R22); what
// isn't JSON, a gateway's page, has none.
func messageOf(body []byte) string {
	var said struct {
		Status struct {
			Message string `json:"message"`
		} `json:"status"`
		Message string `json:"message"`
	}
	if json.Unmarshal(bytes.TrimSpace(body), &said) != nil {
		return ""
	}
	m := said.Status.Message
	if m == "" {
		m = said.Message
	}
	if len(m) > maxSaid {
		m = strings.ToValidUTF8(m[:maxSaid], "") + "…"
	}
	return m
}
