package dashboard

import "strconv"

// depth is how many seconds are remembered.
const depth = 600

// Point is what happened from one sample to the next, and what there was then.
// Times are milliseconds.
type Point struct {
	At       int64   // Unix time in seconds
	Over     float64 // seconds since the sample before
	Calls    int     // that came
	Sent     int     // tries let go to Riot
	Ceiling  float64
	Queued   int
	Oldest   int64
	InFlight int
	P50, P95 float64 // waits of those that were let go; unknown when there were none
	Limited  [4]int  // 429s: application, method, service, anything else
	Ours     int     // of them, those of our own making
	Retries  int
	Refused  int // by us
	Failed   int // of them, for a full queue or after all the time there was
}

// appendJSON writes a Point as a list, in the order of the fields: 600 of them
// are sent to everyone who opens the page.
func (p *Point) appendJSON(b []byte) []byte {
	b = append(b, '[')
	b = strconv.AppendInt(b, p.At, 10)
	for _, v := range [...]float64{
		p.Over, float64(p.Calls), float64(p.Sent), p.Ceiling, float64(p.Queued), float64(p.Oldest), float64(p.InFlight), p.P50, p.P95,
		float64(p.Limited[0]), float64(p.Limited[1]), float64(p.Limited[2]), float64(p.Limited[3]), float64(p.Ours), float64(p.Retries), float64(p.Refused), float64(p.Failed),
	} {
		b = append(b, ',')
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	return append(b, ']')
}

// history is a ring of seconds.
type history struct {
	points [depth]Point
	n      int // points ever added
}

func (h *history) add(p Point) {
	h.points[h.n%depth] = p
	h.n++
}

func (h *history) appendJSON(b []byte) []byte {
	b = append(b, '[')
	for i := max(0, h.n-depth); i < h.n; i++ {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = h.points[i%depth].appendJSON(b)
	}
	return append(b, ']')
}

// past is how full a window was at each second, in 250ths of its limit: all
// calls, and of them those that weren't ours. It takes memory once there was
// something to remember.
type past struct {
	ring *[depth][2]uint8
	from int // the first second that counts
	next int // the one after the last
	last int // the last one with anything in it
}

const full = 250

// add remembers second n, and takes those that were left out to have been
// alike.
func (p *past) add(n, limit, used, foreign int) {
	if p.ring == nil {
		if used == 0 {
			return
		}
		p.ring, p.from, p.next = new([depth][2]uint8), n, n
	}
	if used > 0 {
		p.last = n
	} else if n-p.last > depth {
		p.ring = nil
		return
	}
	for i := max(min(p.next, n), n-depth+1); i <= n; i++ {
		p.ring[i%depth] = [2]uint8{share(used, limit), share(foreign, limit)}
	}
	p.next = n + 1
}

func share(n, of int) uint8 {
	if of <= 0 {
		return 0
	}
	return uint8(min(255, (n*full+of-1)/of))
}

// appendJSON writes the seconds there are as two lists of per milles, the oldest
// first.
func (p *past) appendJSON(b []byte) []byte {
	b = append(b, '[')
	for which := range 2 {
		if which > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		if p.ring != nil {
			for i := max(p.from, p.next-depth); i < p.next; i++ {
				if b[len(b)-1] != '[' {
					b = append(b, ',')
				}
				b = strconv.AppendInt(b, int64(p.ring[i%depth][which])*1000/full, 10)
			}
		}
		b = append(b, ']')
	}
	return append(b, ']')
}
