// Command scale shows what many relays cost the store that they share, in
// virtual time: 50 replicas, 20 hosts, 100 keys, on the store in memory, which
// answers as the one in Redis does. Each replica asks as a relay asks: once at a
// time for each key and host, for all of its calls that wait, when there are
// some and the store's last answer says that it is worth it, or a hint of the
// store's. Hints are counted with what they cause.
//
//	go run ./scale                       from bench/
//	go run ./scale -cpu 60 -rate 5000    with a cost per call measured elsewhere
//
// What a call of the store costs is measured by
//
//	go test ./redisstore -run - -bench Admit -benchtime 8000x
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// target is the load that the number of shards is given for, in requests/s.
const target = 100_000

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	p := plan{}
	flags.IntVar(&p.replicas, "replicas", 50, "relays")
	flags.IntVar(&p.hosts, "hosts", 20, "hosts of Riot's")
	flags.IntVar(&p.keys, "keys", 100, "keys")
	flags.DurationVar(&p.trip, "trip", time.Millisecond, "a replica's way to the store and back")
	flags.DurationVar(&p.riot, "riot", 60*time.Millisecond, "time that Riot takes")
	flags.DurationVar(&p.length, "for", 5*time.Second, "virtual time that is measured, after five seconds")
	flags.BoolVar(&p.forget, "forget", false, "the store loses everything when the measuring begins, and all replicas tell it what they spent")
	cpu := flags.Float64("cpu", 95, "processor time of Redis for each call, in µs")
	rate := flags.Int("rate", 0, "requests/s; 0 = several")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if p.replicas < 1 || p.hosts < 1 || p.keys < 1 || p.length <= 0 || *cpu <= 0 {
		return errors.New("-replicas, -hosts, -keys, -for and -cpu; allowed: more than 0")
	}
	rates := []int{1000, 5000, 20_000, 80_000}
	if *rate > 0 {
		rates = []int{*rate}
	}
	fmt.Fprintf(w, "%d replicas, %d hosts, %d keys: %d budgets; %v to the store and back; %.0f µs of Redis for a call\n\n", p.replicas, p.hosts, p.keys, p.hosts*p.keys, p.trip, *cpu)
	fmt.Fprintln(w, "requests/s   store calls/s   calls for a request   mean wait   one shard's CPU   shards at 70 %")
	perRequest := 0.0
	for _, r := range rates {
		p.rate = r
		got := p.simulate()
		perRequest = got.perRequest()
		fmt.Fprintf(w, "%10d %15.0f %21.2f %11s %16.0f %% %15d\n", r, got.callsPerSecond(), perRequest,
			got.meanWait().Round(100*time.Microsecond), got.callsPerSecond()**cpu/1e6*100, shards(got.callsPerSecond(), *cpu))
	}
	fmt.Fprintf(w, "\nAt the last line's calls for a request, %d requests/s need %d shards.\n", target, shards(perRequest*target, *cpu))
	return nil
}

// shards returns how many primaries of a cluster carry so many calls/s, each with
// 70 % of a processor.
func shards(callsPerSecond, cpu float64) int {
	n := callsPerSecond * cpu / 1e6 / 0.7
	return max(1, int(n+0.999))
}
