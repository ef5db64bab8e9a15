package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// weather is what changes around a model while it runs.
type weather struct {
	base     time.Duration // least delay of a call now; its answer shows the most, J
	thinking bool          // every answer takes Riot 0.5 to 3 s now
	stepping bool          // base and thinking change
	share    float64       // of the limits, that another program uses
	leaves   limit.Instant // when it stops
}

// newWeather makes a model with windows of up to a minute beside another
// program, in delays that step up and down; a seed has any of these, or all.
func newWeather(t *testing.T, seed uint64) *model {
	m := newModel(t, seed)
	w := &weather{stepping: m.chance(0.7), leaves: limit.Instant(3 * time.Minute)}
	if m.chance(0.7) {
		w.share, m.alone = 0.2+0.8*m.rng.Float64(), false
	}
	m.weather = w
	if m.chance(0.7) {
		m.edge.app[1].w, m.edge.app[1].n = time.Minute, 60+m.rng.IntN(120)
	}
	if m.chance(0.3) {
		m.edge.method[0].w = time.Minute
	}
	for at := 90 * time.Second; at < 5*time.Minute; at += m.upTo(20 * time.Second) {
		n := 1 + m.rng.IntN(60)
		m.after(at, func() { m.waiting += n })
	}
	if w.stepping {
		for at := time.Duration(0); at < 5*time.Minute; at += m.upTo(time.Minute) {
			m.after(at, func() { w.base, w.thinking = m.upTo(m.policy.Margin), m.chance(0.3) })
		}
	}
	if w.share > 0 {
		m.foreign()
	}
	return m
}

// foreign has the other program call, and again until it leaves.
func (m *model) foreign() {
	gap := float64(m.edge.app[0].w) / float64(m.edge.app[0].n)
	for _, e := range m.edge.app {
		gap = max(gap, float64(e.w)/float64(e.n))
	}
	m.after(time.Duration(m.rng.ExpFloat64()*gap/m.weather.share), func() {
		if m.now < m.weather.leaves {
			m.edge.arrive(arrival{at: m.now, admitted: m.now, order: -1}, m.app, m.method, nil)
			m.foreign()
		}
	})
}

// TestModelInAnyWeather is TestModel with foreign use, steps in the delay, slow
// answers and windows of a minute, in any combination. No interval holds more of
// our own arrivals than the limit. No call waits forever, even when the
// breaker has tripped while another program used the key.
func TestModelInAnyWeather(t *testing.T) {
	run := func(seed uint64) {
		m := newWeather(t, seed)
		defer func() {
			if t.Failed() {
				t.Logf("-model.seed=%d: %s edge, changing %v, %+v, policy %+v", seed, m.edge.kind, m.changing, *m.weather, m.policy)
			}
		}()
		m.run(limit.Instant(5 * time.Minute))
		if err := m.edge.judge(); err != nil {
			t.Fatalf("%v", err)
		}
		m.waiting = min(m.waiting, 20) // a small limit lets few go in an hour
		m.run(limit.Instant(time.Hour))
		if m.waiting > 0 {
			t.Fatalf("%d still wait after an hour", m.waiting)
		}
		if m.answers < 20 && !m.changing {
			t.Fatalf("%d answers: the test tests nothing", m.answers)
		}
	}
	if *modelSeed != 0 {
		run(*modelSeed)
		return
	}
	for seed := range uint64(100) {
		run(seed + 1)
	}
}
