package redisstore

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"riftrelay/internal/limit"
)

// What scripts are asked is JSON, whose decoder in the server is fast: lists
// of numbers, in whole milliseconds rounded as limit's ledger does.

// list writes JSON lists.
type list []byte

func (l *list) open() {
	l.comma()
	*l = append(*l, '[')
}

func (l *list) close() { *l = append(*l, ']') }

func (l *list) comma() {
	if n := len(*l); n > 0 && (*l)[n-1] != '[' {
		*l = append(*l, ',')
	}
}

func (l *list) int(n int64) {
	l.comma()
	*l = strconv.AppendInt(*l, n, 10)
}

func (l *list) float(f float64) {
	l.comma()
	*l = strconv.AppendFloat(*l, f, 'g', -1, 64)
}

func (l *list) bool(b bool) {
	if b {
		l.int(1)
	} else {
		l.int(0)
	}
}

func (l *list) name(s string) {
	l.comma()
	quoted, _ := json.Marshal(s) // no string fails
	*l = append(*l, quoted...)
}

func (l *list) quotas(quotas []limit.Quota) {
	l.open()
	for _, q := range quotas {
		l.int(int64(q.N))
		l.int(q.W.Milliseconds())
	}
	l.close()
}

func (l *list) bases(bases []limit.Basis) {
	l.open()
	for _, b := range bases {
		l.int(b.W.Milliseconds())
		l.int(int64(b.Base))
		l.int(int64(b.Used))
	}
	l.close()
}

// upMillis rounds up: what lasts lasts no shorter than it was told.
func upMillis(d time.Duration) int64 {
	n := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		n++
	}
	return n
}

// downMillis rounds down: what happened so long ago was no earlier.
func downMillis(d time.Duration) int64 { return -upMillis(-d) }

// methods numbers shared names; the application is 0.
type methods struct {
	names []string
	index map[string]int64 // by each name that came
}

func (m *methods) of(name string) int64 {
	if name == "" {
		return 0
	}
	i, ok := m.index[name]
	if !ok {
		if m.index == nil {
			m.index = map[string]int64{}
		}
		shared := limit.SharedName(name)
		place := slices.Index(m.names, shared)
		if place < 0 {
			place = len(m.names)
			m.names = append(m.names, shared)
		}
		i = int64(place + 1)
		m.index[name] = i
	}
	return i
}

func (l *list) methods(m *methods) {
	l.open()
	for _, name := range m.names {
		l.name(name)
	}
	l.close()
}

func encodeAsk(ask *limit.Ask) string {
	var m methods
	var rest list
	rest.open()
	for _, d := range ask.Demands {
		rest.int(m.of(d.Method))
		rest.int(int64(d.Want[0]))
		rest.int(int64(d.Want[1]))
	}
	rest.close()
	rest.open()
	for _, d := range ask.Done {
		rest.int(m.of(d.Stub.Method))
		rest.int(d.Stub.At)
		rest.int(d.Stub.Due)
		rest.bool(d.Unsent)
		rest.int(downMillis(d.Ago))
	}
	rest.close()
	rest.open()
	for _, f := range ask.Facts {
		rest.open()
		rest.int(m.of(f.Method))
		rest.int(f.SentAgo.Milliseconds())
		rest.bool(f.Passed)
		rest.bool(f.Counted)
		rest.quotas(f.Limits)
		rest.quotas(f.Counts)
		rest.bases(f.Bases)
		rest.int(upMillis(f.Stop))
		rest.int(int64(f.Cause))
		rest.int(int64(f.Level))
		rest.close()
	}
	rest.close()
	rest.merge(&m, ask.Merge)

	l := make(list, 0, len(rest)+256)
	l.open()
	l.methods(&m)
	l.int(upMillis(ask.Margin))
	l.quotas(ask.Assumed)
	l.name(ask.Replica)
	l.float(ask.Burst)
	l.int(ask.Horizon.Milliseconds())
	l = append(append(l, ','), rest...)
	l.close()
	return string(l)
}

// merge writes what is merged: an empty list when nothing is.
func (l *list) merge(m *methods, merge *limit.Merge) {
	l.open()
	defer l.close()
	if merge == nil {
		return
	}
	l.int(merge.Process)
	l.int(merge.Number)
	l.int(merge.Epoch)
	l.open()
	for _, a := range merge.Scopes {
		l.open()
		l.int(m.of(a.Method))
		l.int(upMillis(a.Saved.Stop))
		l.int(int64(a.Saved.Cause))
		l.open()
		for _, w := range a.Saved.Windows {
			l.int(int64(w.N))
			l.int(w.W.Milliseconds())
			l.charges(w.Own)
			l.charges(w.Others)
		}
		l.close()
		l.close()
	}
	l.close()
}

func (l *list) charges(charges []limit.SavedCharge) {
	l.open()
	for _, c := range charges {
		l.int(downMillis(c.Age))
		l.int(int64(c.N))
	}
	l.close()
}

// traits follow the key in the names of what is told of it.
var traits = [...]string{limit.KeySuspect: "", limit.KeyDisabled: "/disabled"}

func encodeBeat(replica string, keys []limit.KeyHealth) string {
	var l list
	l.open()
	l.int(limit.PeerTimeout.Milliseconds())
	l.name(replica)
	l.open()
	for _, k := range keys {
		l.name(k.Key + traits[k.Of])
		l.bool(k.Is)
		l.int(k.For.Milliseconds())
	}
	l.close()
	l.close()
	return string(l)
}
