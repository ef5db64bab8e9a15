package window

import (
	"encoding/json"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// A scope that is saved and restored lets go what it would have let go
// without, after one call alone for its counts.
func TestSaveRestore(t *testing.T) {
	const j = 150 * time.Millisecond
	p := Policy{Burst: 1, Margin: j}
	start := func() (*Scope, *Gate) {
		s, service := NewScope(0, nil), new(Gate)
		h := new(Hold)
		h.Take(0, p, service, s)
		h.Sent(0, j)
		Learn(0, Answer{Status: 200, MethodLimit: "10:10,100:600", MethodCount: "1:10,1:600"}, h, service, nil, s, j)
		h.Join(0, j)
		h.Settle(0, j)
		return s, service
	}
	s, service := start()
	for i := range 8 { // one a second, the last one without an answer
		now := limit.Instant(i+1) * second
		h := new(Hold)
		h.Take(now, p, service, s)
		h.Sent(now, j)
		if i < 7 {
			h.Settle(now.Add(20*time.Millisecond), j)
		}
	}
	saved := s.Save(8*second, j)
	if !saved.Valid() || len(saved.Windows) != 2 || saved.Windows[0].N != 10 {
		t.Fatalf("saved %+v", saved)
	}
	data, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	var read limit.Saved
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}

	const elapsed = time.Second // a new clock: 100 s there is 9 s here
	now := 100 * second
	r := Restore(now, read, elapsed, now.Add(j), nil)
	if got := r.Next(now, p); got != now.Add(j) {
		t.Errorf("first call at %v, want J after the start", got.Sub(now))
	}
	now = now.Add(j)
	first := new(Hold)
	first.Take(now, p, service, r)
	if got := r.Next(now, p); got <= now {
		t.Error("the second call doesn't wait for the counts of the first")
	}
	first.Sent(now, j)
	Learn(now, Answer{Status: 200, MethodLimit: "10:10,100:600", MethodCount: "10:10,10:600"}, first, service, nil, r, j)
	first.Settle(now, j)
	for i, w := range r.State(now, j).Windows {
		if w.Used != 10 || w.Others != 0 {
			t.Errorf("window %d: used %d, others %d, want the 9 calls before and the first one", i, w.Used, w.Others)
		}
	}
	// The oldest charge of the 10 s window began to expire 8 s before the
	// saving, 9.15 s ago; rounded up by no more than a sixty-fourth of it.
	if got := r.Next(now, p).Sub(now); got < 850*time.Millisecond || got > 1010*time.Millisecond {
		t.Errorf("room in %v, want after 0.85 s", got)
	}
}

func TestSaveRestoreStops(t *testing.T) {
	const j = 150 * time.Millisecond
	s, service, h := NewScope(0, nil), new(Gate), new(Hold)
	h.Take(0, Policy{Margin: j}, service, s)
	h.Sent(0, j)
	Learn(0, Answer{Status: 429, Type: "method", RetryAfter: []string{"30"}}, h, service, nil, s, j)
	h.Settle(0, j)
	v := s.Save(second, j)
	r := Restore(0, v, 9*time.Second, 0, []limit.Quota{{N: 5, W: time.Second}})
	if left, kind := r.Cooldown(0); kind != limit.Method || left < 20*time.Second || left > 21*time.Second {
		t.Errorf("%v left of a %v stop, want 20.5 s of the 30.5", left, kind)
	}
	if len(r.windows) != 1 {
		t.Error("a scope without known limits has the assumed ones")
	}
	// A clock that was set back makes nothing younger.
	if left, _ := Restore(0, v, -time.Hour, 0, nil).Cooldown(0); left > 31*time.Second {
		t.Errorf("%v left", left)
	}
	if left, _ := Restore(0, v, time.Hour, 0, nil).Cooldown(0); left != 0 {
		t.Errorf("%v left after an hour", left)
	}
}

// Entries are merged into the younger: restored charges last longer, never
// shorter, and there are as many.
func TestSaveIsBounded(t *testing.T) {
	const j = 150 * time.Millisecond
	s := NewScope(0, nil)
	s.known, s.windows = true, []*window{newWindow(limit.Quota{N: 100000, W: 600 * time.Second})}
	total := 0
	for i := range 600 {
		s.windows[0].answered.push(limit.Instant(i)*second, 3, s.windows[0].span)
		total += 3
	}
	v := s.Save(600*second, j)
	own := v.Windows[0].Own
	if len(own) > savedSpans+2 {
		t.Errorf("%d entries", len(own))
	}
	for i, c := range own {
		total -= c.N
		if i > 0 && c.Age > own[i-1].Age {
			t.Error("not oldest first")
		}
	}
	if total < 0 || total > 3 { // the very first may have expired
		t.Errorf("%d charges lost", total)
	}
}

func TestSavedValid(t *testing.T) {
	good := func() limit.Saved {
		return limit.Saved{Windows: []limit.SavedWindow{{N: 20, W: time.Second, Own: []limit.SavedCharge{{Age: time.Second, N: 1}, {Age: 0, N: 2}}}}}
	}
	if !good().Valid() {
		t.Fatal("a good one is refused")
	}
	for name, spoil := range map[string]func(*limit.Saved){
		"no calls":      func(v *limit.Saved) { v.Windows[0].N = 0 },
		"no length":     func(v *limit.Saved) { v.Windows[0].W = 0 },
		"odd length":    func(v *limit.Saved) { v.Windows[0].W = 1500 * time.Millisecond },
		"twice":         func(v *limit.Saved) { v.Windows = append(v.Windows, v.Windows[0]) },
		"too many":      func(v *limit.Saved) { v.Windows = make([]limit.SavedWindow, 17) },
		"order":         func(v *limit.Saved) { v.Windows[0].Own[1].Age = 2 * time.Second },
		"negative":      func(v *limit.Saved) { v.Windows[0].Own[0].N = -1 },
		"far future":    func(v *limit.Saved) { v.Windows[0].Own[1].Age = -time.Hour },
		"endless stop":  func(v *limit.Saved) { v.Stop = 1000 * time.Hour },
		"negative stop": func(v *limit.Saved) { v.Stop = -1 },
		"cause":         func(v *limit.Saved) { v.Cause = 99 },
		"strikes":       func(v *limit.Saved) { v.Strikes = -1 },
		"level":         func(v *limit.Saved) { v.Halved = 4 },
		"long calm":     func(v *limit.Saved) { v.Calm = time.Hour },
		"old violation": func(v *limit.Saved) { v.Violations = []time.Duration{time.Hour} },
		"violations":    func(v *limit.Saved) { v.Violations = []time.Duration{1, 2} },
	} {
		v := good()
		if spoil(&v); v.Valid() {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestRestoreHugeSums: charges whose sum no entry can hold block no key longer
// than their window.
func TestRestoreHugeSums(t *testing.T) {
	w := limit.SavedWindow{N: 10, W: 10 * time.Second}
	for range 5 {
		w.Own = append(w.Own, limit.SavedCharge{N: 1 << 29})
		w.Others = append(w.Others, limit.SavedCharge{N: 1 << 29})
	}
	for range 3 {
		w.Own, w.Others = append(w.Own, w.Own[0]), append(w.Others, w.Others[0])
	}
	v := limit.Saved{Windows: []limit.SavedWindow{w}}
	if !v.Valid() {
		t.Fatal("the file is refused: the test tests nothing")
	}
	now := limit.Instant(time.Hour)
	s := Restore(now, v, 0, now, nil)
	if n := s.windows[0].used(); n != 20 {
		t.Errorf("%d charges, want as many own ones and others' as the limit has", n)
	}
	if n := s.State(now.Add(11*time.Second), 0).Windows[0].Used; n != 0 {
		t.Errorf("%d charges a window later", n)
	}
}
