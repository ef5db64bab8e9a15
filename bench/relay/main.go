// Command relay compares the relay with a plain tuned httputil.ReverseProxy,
// end to end over loopback sockets:
//
//	load generator ── baseline or relay ── upstream
//
// each in a process of its own. Short runs of the two alternate, so that
// whatever else the machine does hits both alike, and what counts is the median
// of the ratios within the pairs. CPU is that of the proxy's process alone.
//
//	go run ./relay                          from bench/
//	go run ./relay -body 30000
//	go run ./relay -check -tolerance 0.05   fail when the goal is missed
//	go run ./relay -profile relay.prof      CPU profile of the relay under the load
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// The goal, as ratios of the relay to the baseline.
const (
	leastThroughput = 0.90
	mostCPU         = 1.15
)

type settings struct {
	pairs     int
	duration  time.Duration // of one run
	warmUp    time.Duration // of each proxy, not measured
	conns     int
	body      int // bytes of an answer
	relay     string
	profile   string
	check     bool
	tolerance float64
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == roleArg {
		exit(playRole(os.Args[2:]))
	}
	s := settings{warmUp: 1500 * time.Millisecond}
	flag.IntVar(&s.pairs, "pairs", 7, "pairs of runs")
	flag.DurationVar(&s.duration, "duration", 3*time.Second, "length of one run")
	flag.IntVar(&s.conns, "conns", 64, "keep-alive connections")
	flag.IntVar(&s.body, "body", 1024, "bytes of an answer's body")
	flag.StringVar(&s.relay, "relay", "assembled", "the relay: assembled (its parts in this program) or binary (riftrelay serve, built from the tree)")
	flag.StringVar(&s.profile, "profile", "", "write a CPU profile of the assembled relay to this file")
	flag.BoolVar(&s.check, "check", false, "exit 1 when the goal is missed")
	flag.Float64Var(&s.tolerance, "tolerance", 0, "by how much -check may miss the goal, for noisy machines: 0.05 = 5 %")
	flag.Parse()
	exit(s.run(os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/relay:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run compares and prints a table.
func (s *settings) run(out io.Writer) error {
	if s.pairs < 1 || s.conns < 1 || s.duration <= 0 || s.body < minBody {
		return fmt.Errorf("-pairs, -conns and -duration must be positive, -body at least %d", minBody)
	}
	baseline, relay, err := s.measure(out)
	if err != nil {
		return err
	}
	throughput, cpu := ratios(relay, baseline, result.perSecond), ratios(relay, baseline, result.cpuPerRequest)
	fmt.Fprintf(out, "\n%-10s %10s %12s %9s %9s\n", "medians", "requests/s", "CPU/request", "p50", "p99")
	for _, row := range []struct {
		name string
		of   []result
	}{{"baseline", baseline}, {"relay", relay}} {
		fmt.Fprintf(out, "%-10s %10.0f %9.1f µs %6.2f ms %6.2f ms\n", row.name,
			median(row.of, result.perSecond), median(row.of, result.cpuPerRequest)*1e6,
			median(row.of, result.p50)*1e3, median(row.of, result.p99)*1e3)
	}
	fmt.Fprintf(out, "\nrequests/s  × %.3f of the baseline's (%.3f to %.3f), goal ≥ %.2f\n",
		mid(throughput), slices.Min(throughput), slices.Max(throughput), leastThroughput)
	fmt.Fprintf(out, "CPU/request × %.3f of the baseline's (%.3f to %.3f), goal ≤ %.2f\n",
		mid(cpu), slices.Min(cpu), slices.Max(cpu), mostCPU)

	if s.check && (mid(throughput) < leastThroughput*(1-s.tolerance) || mid(cpu) > mostCPU*(1+s.tolerance)) {
		return errors.New("the goal is missed")
	}
	return nil
}

// measure starts the processes and runs the load against the two proxies in
// turn.
func (s *settings) measure(out io.Writer) (baseline, relay []result, err error) {
	procs, err := s.start()
	defer procs.stop()
	if err != nil {
		return nil, nil, err
	}
	for _, p := range []*process{procs.baseline, procs.relay} {
		if _, err := s.load(p, s.warmUp); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	fmt.Fprintf(out, "%d connections, answers of %d bytes, %d pairs of %v, relay: %s\n\n", s.conns, s.body, s.pairs, s.duration, s.relay)
	fmt.Fprintf(out, "%-10s %10s %12s %9s %9s\n", "", "requests/s", "CPU/request", "p50", "p99")
	for i := range s.pairs {
		// A B, B A, A B …: a drift of the machine favours neither.
		order := []*process{procs.baseline, procs.relay}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, p := range order {
			r, err := s.load(p, s.duration)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", p.name, err)
			}
			fmt.Fprintf(out, "%-10s %10.0f %9.1f µs %6.2f ms %6.2f ms\n", p.name, r.perSecond(), r.cpuPerRequest()*1e6, r.p50()*1e3, r.p99()*1e3)
			if p == procs.baseline {
				baseline = append(baseline, r)
			} else {
				relay = append(relay, r)
			}
		}
	}
	return baseline, relay, nil
}

func ratios(a, b []result, of func(result) float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = of(a[i]) / of(b[i])
	}
	return r
}

func median(rs []result, of func(result) float64) float64 {
	values := make([]float64, len(rs))
	for i, r := range rs {
		values[i] = of(r)
	}
	return mid(values)
}

func mid(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
