package redisstore

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// Answers as bytes, for the fuzzer: each element begins with its kind.
const (
	kindByte = iota // a whole number of one byte
	kindInt
	kindString // of up to 255 bytes
	kindNil
	kindNested // up to its end
	kindEnd
	kindFloat
	kinds
)

func answerOf(data []byte) (list []any, rest []byte) {
	for len(data) > 0 {
		kind := data[0] % kinds
		data = data[1:]
		var n int
		switch kind {
		case kindNil:
			list = append(list, nil)
			continue
		case kindEnd:
			return list, data
		case kindNested:
			var inner []any
			inner, data = answerOf(data)
			list = append(list, inner)
			continue
		case kindByte:
			n = 1
		case kindInt, kindFloat:
			n = 8
		case kindString:
			if len(data) == 0 {
				return list, nil
			}
			n, data = int(data[0]), data[1:]
		}
		if len(data) < n {
			return list, nil
		}
		switch kind {
		case kindByte:
			list = append(list, int64(data[0]))
		case kindInt:
			list = append(list, int64(binary.BigEndian.Uint64(data)))
		case kindFloat:
			list = append(list, math.Float64frombits(binary.BigEndian.Uint64(data)))
		case kindString:
			list = append(list, string(data[:n]))
		}
		data = data[n:]
	}
	return list, nil
}

func bytesOf(list ...any) (data []byte) {
	for _, x := range list {
		switch x := x.(type) {
		case int:
			data = binary.BigEndian.AppendUint64(append(data, kindInt), uint64(x))
		case string:
			data = append(append(data, kindString, byte(len(x))), x...)
		case []any:
			data = append(append(append(data, kindNested), bytesOf(x...)...), kindEnd)
		case nil:
			data = append(data, kindNil)
		}
	}
	return data
}

func twoDemands() *limit.Ask {
	return &limit.Ask{Horizon: 50 * time.Millisecond, Demands: []limit.Demand{{Method: "/a", Want: [2]int{3, 0}}, {Method: "/b", Want: [2]int{0, 1}}}}
}

// sane is an answer to twoDemands: epoch, now, margin, trip, runs, waits, views.
func sane() []any {
	return []any{
		1, 1000, 150, 2,
		0, 0, 0, 1150, 2, // two of the three
		1, 1, 2500, 1152, 1,
		40, 1, 0, 0, // waits
		1, 0, 0, 0, 0, 1, 100, 2000, 3, 0, 1, 0, // the application
		1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,
	}
}

// Whatever a server answers, it makes no panic, no more permits than were asked
// for, and no more memory than it sent.
func FuzzDecodeReply(f *testing.F) {
	f.Add(bytesOf(sane()...))
	for place, x := range map[int]any{
		0: "epoch", 1: nil, 2: math.MinInt, 3: math.MaxInt, 4: math.MaxInt, 5: -1, 6: 2, 7: -5000, 9: 1_000_000_000, 14: -1,
		15: 3_600_000, 16: 300, 19: []any{1, []any{nil}}, 21: math.MaxInt, 24: math.MaxInt, 25: 0, 26: 0, 27: -1, 28: math.MaxInt,
	} {
		list := sane()
		list[place] = x
		f.Add(bytesOf(list...))
	}
	f.Add(bytesOf(sane()[:12]...))
	f.Add(bytesOf(append(sane(), 1)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _ := answerOf(data)
		ask := twoDemands()
		r, err := decodeReply(ask, list)
		if err != nil {
			if len(r.Grants) > 0 {
				t.Errorf("%d permits with %v", len(r.Grants), err)
			}
			return
		}
		var got [2][2]int
		for _, g := range r.Grants {
			class := 0
			if g.High {
				class = 1
			}
			got[g.Demand][class]++
		}
		for i, d := range ask.Demands {
			if got[i][0] > d.Want[0] || got[i][1] > d.Want[1] {
				t.Errorf("demand %d is granted %v of %v", i, got[i], d.Want)
			}
		}
		windows := 0
		for _, v := range append(r.Views, r.App) {
			windows += len(v.Windows)
		}
		if 6*windows > len(list) {
			t.Errorf("%d windows of an answer of %d numbers", windows, len(list))
		}
		_ = r.Check(ask)
	})
}

func TestDecodeSaneReply(t *testing.T) {
	list, _ := answerOf(bytesOf(sane()...))
	r, err := decodeReply(twoDemands(), list)
	if err == nil {
		err = r.Check(twoDemands())
	}
	if err != nil || len(r.Grants) != 3 {
		t.Errorf("%v, %+v", err, r)
	}
}

func FuzzDecodePeers(f *testing.F) {
	f.Add(bytesOf(2, 1, "0123456789abcdef", 1, 3000))
	for _, x := range []any{nil, "two", 0, -1, math.MaxInt, []any{1}} {
		f.Add(bytesOf(x, 0, "0123456789abcdef", 1, 3000))
		f.Add(bytesOf(1, 0, "k", x, 3000))
		f.Add(bytesOf(1, 0, "k", 1, x))
		f.Add(bytesOf(1, 0, x, 1, 3000))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _ := answerOf(data)
		p, err := decodePeers(list)
		if err != nil && len(p.Keys) > 0 {
			t.Errorf("%d keys with %v", len(p.Keys), err)
		}
		if err == nil && (p.Live < 1 || 3*len(p.Keys) > len(list)) {
			t.Errorf("%+v of %v", p, list)
		}
	})
}

// Ten million permits of a server that is out of its mind cost nothing.
func TestDecodeHugeReply(t *testing.T) {
	ask := twoDemands()
	list := make([]any, 0, 500_004)
	for _, n := range []int64{1, 1000, 150, 100_000} {
		list = append(list, n)
	}
	for range 100_000 {
		list = append(list, int64(0), int64(0), int64(0), int64(1150), int64(limit.MostWanted))
	}
	allocated := testing.AllocsPerRun(1, func() {
		if r, err := decodeReply(ask, list); err == nil || r.Grants != nil {
			t.Errorf("%d permits, %v", len(r.Grants), err)
		}
	})
	if allocated > 10 {
		t.Errorf("%v allocations", allocated)
	}
}
