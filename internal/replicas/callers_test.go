package replicas

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// callers are clients of relays. Each waits for its answer before it calls
// again, so that the load is bounded.
type callers struct {
	stop context.CancelFunc
	work sync.WaitGroup

	served atomic.Int64 // answers 200

	mu     sync.Mutex
	calls  []call
	failed []string
}

// call is one that was answered.
type call struct {
	began time.Time
	took  time.Duration
}

// habit is how callers call.
type habit struct {
	n     int           // how many callers
	think time.Duration // between an answer and the next call
	high  bool
	// follow are further relays to turn to, as a load balancer does when one
	// can't be reached or stops; such a failure isn't one then.
	follow []*relay
}

// call has callers call a relay until stopped or the end of the test.
func (r *rig) call(p *relay, h habit) *callers {
	ctx, stop := context.WithCancel(context.Background())
	c := &callers{stop: stop}
	transport := &http.Transport{MaxIdleConnsPerHost: h.n}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	for range h.n {
		c.work.Go(func() {
			for turn := 0; ctx.Err() == nil; {
				to := p
				if all := len(h.follow) + 1; turn%all > 0 {
					to = h.follow[turn%all-1]
				}
				began := time.Now()
				why := get(ctx, client, to.front, h.high)
				switch {
				case ctx.Err() != nil:
					return
				case why == "":
					c.served.Add(1)
					c.mu.Lock()
					c.calls = append(c.calls, call{began, time.Since(began)})
					c.mu.Unlock()
				case h.follow == nil:
					c.mu.Lock()
					c.failed = append(c.failed, why)
					c.mu.Unlock()
				}
				if why != "" {
					turn++
					sleep(ctx, 20*time.Millisecond)
				}
				sleep(ctx, h.think)
			}
		})
	}
	r.t.Cleanup(func() { c.end(); transport.CloseIdleConnections() })
	return c
}

// backlog has n callers on each relay, more than the limit can serve.
func (r *rig) backlog(n int) []*callers {
	var all []*callers
	for _, p := range r.relays {
		all = append(all, r.call(p, habit{n: n}))
	}
	return all
}

// get makes a call and says why it failed.
func get(ctx context.Context, client *http.Client, front string, high bool) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, front+target, http.NoBody)
	if err != nil {
		panic(err)
	}
	if high {
		req.Header.Set("X-Priority", "high")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err.Error()
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("X-Riftrelay-Reason"))
	}
	return ""
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// end stops them.
func (c *callers) end() {
	c.stop()
	c.work.Wait()
}

// took returns how long calls took that began from one moment to another, sorted.
func (c *callers) took(from, to time.Time) (list []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.calls {
		if !x.began.Before(from) && x.began.Before(to) {
			list = append(list, x.took)
		}
	}
	slices.Sort(list)
	return list
}

// answered counts calls answered from one moment to another.
func (c *callers) answered(from, to time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.calls {
		if end := x.began.Add(x.took); !end.Before(from) && end.Before(to) {
			n++
		}
	}
	return n
}

// failures fails the test for each kind of failed call.
func (r *rig) noFailures(all ...*callers) {
	r.t.Helper()
	kinds, n := map[string]int{}, 0
	for _, c := range all {
		c.mu.Lock()
		for _, why := range c.failed {
			kinds[why]++
			n++
		}
		c.mu.Unlock()
	}
	if n > 0 {
		r.t.Errorf("%d calls failed: %v", n, kinds)
	}
}

// percentile of a sorted list.
func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[(len(list)-1)*p/100]
}

// jain is Jain's index of fairness: 1 if all have the same.
func jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// shares returns each group's share of what was answered, 1 being the fair one.
func shares(from, to time.Time, all ...*callers) []float64 {
	var list []float64
	sum := 0.0
	for _, c := range all {
		n := float64(c.answered(from, to))
		list = append(list, n)
		sum += n
	}
	for i := range list {
		list[i] *= float64(len(all)) / max(sum, 1)
	}
	return list
}
