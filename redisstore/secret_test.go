package redisstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// What is stored tells no key, no path and nothing of a player: names of
// budgets, of methods and of replicas, and numbers.
func TestNothingSecretIsStored(t *testing.T) {
	server := startServer(t)
	s := realWithClock(t, server)
	compareSteps(t, 3, 1500, s, func(int64) {})
	c := redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: time.Minute})
	defer c.Close()
	ctx := t.Context()
	names := regexp.MustCompile(`^riftrelay:\{(rr|([0-9a-f]{16})?\|host[01])\}(:4)?(:probe)?$`)
	fields := regexp.MustCompile(`^([laA]|[mM]/lol/m[0-2]/v4/\{\}|g|rreplica-[0-3]|kkey[0-2](/disabled)?|probe)$`)
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[byte]int{}
	for _, key := range keys {
		if !names.MatchString(key) {
			t.Errorf("key %q", key)
		}
		ttl, err := c.PTTL(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		if ttl == -2 {
			continue // it has ended meanwhile
		}
		if ttl <= 0 {
			t.Errorf("%s never expires", key)
		}
		values, err := c.HGetAll(ctx, key).Result() // nothing but a hash has them
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		for field, value := range values {
			seen[field[0]]++
			if !fields.MatchString(field) {
				t.Errorf("field %q of %s", field, key)
			}
			if err := onlyNumbers(field[0], value); err != nil {
				t.Errorf("%s of %s is %q: %v", field, key, value, err)
			}
		}
	}
	for _, kind := range "laAmMgrk" {
		if seen[byte(kind)] == 0 {
			t.Errorf("no field %c was stored: nothing to look at", kind)
		}
	}
}

var (
	decimals = regexp.MustCompile(`^[01] \d+$|^\d+$`)
	run      = regexp.MustCompile(`^[0-9a-f]{40}$`)
	replica  = regexp.MustCompile(`^replica-[0-3]$`)
)

// onlyNumbers reads a value as the scripts do, and reports what it has besides
// numbers, the server's run and names of replicas.
func onlyNumbers(kind byte, value string) error {
	r := packed{value: value}
	switch kind {
	case 'A', 'M': // counts, a byte each
		return nil
	case 'l':
		r.numbers(5)
		r.name(run)
	case 'g':
		r.numbers(len(value) / 8)
	case 'a', 'm':
		head := r.numbers(12)
		if r.err != nil {
			return r.err
		}
		for range int(head[10]) {
			if w := r.numbers(25); r.err == nil {
				r.numbers(2 * int(w[20]+w[24]))
			}
		}
		for range int(head[11]) {
			r.name(replica)
			r.numbers(5)
		}
	default:
		if !decimals.MatchString(value) {
			return fmt.Errorf("want decimal numbers")
		}
		return nil
	}
	if r.err == nil && r.value != "" {
		return fmt.Errorf("%q is left over", r.value)
	}
	return r.err
}

// packed is what pack in pack.lua has written.
type packed struct {
	value string
	err   error
}

func (p *packed) take(n int) string {
	if p.err == nil && (n < 0 || n > len(p.value)) {
		p.err = fmt.Errorf("it ends after %d of %d bytes", len(p.value), n)
	}
	if p.err != nil {
		return ""
	}
	s := p.value[:n]
	p.value = p.value[n:]
	return s
}

func (p *packed) numbers(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		b := p.take(8)
		if p.err != nil {
			return nil
		}
		f := math.Float64frombits(binary.BigEndian.Uint64([]byte(b)))
		if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			p.err = fmt.Errorf("%v is no whole number", f)
		}
		list[i] = f
	}
	return list
}

func (p *packed) name(want *regexp.Regexp) {
	b := p.take(2)
	if p.err != nil {
		return
	}
	if name := p.take(int(binary.BigEndian.Uint16([]byte(b)))); p.err == nil && !want.MatchString(name) {
		p.err = fmt.Errorf("the text %q", name)
	}
}
