package metrics

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// series keeps the children of one or several vectors ready, so that counting
// costs one map lookup and neither a lock nor an allocation. K is comparable
// and holds what the labels are made from.
//
// At most `most` children are made; beyond, all share the one of the zero K
// that rest gives. No legal table comes near that: it guards against mistakes.
type series[K comparable, V any] struct {
	bind func(K) V
	rest K

	ready  atomic.Pointer[map[K]V] // never written to once stored
	making sync.Mutex
}

const most = 20_000

func newSeries[K comparable, V any](rest K, bind func(K) V) *series[K, V] {
	s := &series[K, V]{bind: bind, rest: rest}
	s.ready.Store(&map[K]V{})
	return s
}

func (s *series[K, V]) of(k K) V {
	if v, ok := (*s.ready.Load())[k]; ok {
		return v
	}
	return s.add(k)
}

// add copies the map: that happens once for each child, in the first minutes.
func (s *series[K, V]) add(k K) V {
	s.making.Lock()
	defer s.making.Unlock()
	old := *s.ready.Load()
	if v, ok := old[k]; ok { // somebody was faster
		return v
	}
	if len(old) >= most {
		k = s.rest
		if v, ok := old[k]; ok {
			return v
		}
	}
	v := s.bind(k)
	grown := maps.Clone(old)
	grown[k] = v
	s.ready.Store(&grown)
	return v
}

// vectors are made and registered in one go.
type registerer struct{ r prometheus.Registerer }

func (r registerer) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.r.MustRegister(v)
	return v
}

func (r registerer) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.r.MustRegister(v)
	return v
}

func (r registerer) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	r.r.MustRegister(v)
	return v
}
