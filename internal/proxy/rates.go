package proxy

import (
	"net/http"
	"strconv"
	"time"

	"riftrelay"
)

// rateHeaders puts limits and counts on a 429 of the relay's, since every 429 of Riot's that has a type has them
// (R3), and clients rely on it: @fightmegg/riot-api breaks down without, kayn forgets what to pace by.
// They are those of one key, as far as Riot has told them, with the counts of the limiter.
func rateHeaders(h http.Header, scopes []riftrelay.ScopeState) {
	key, chosen := "", false
	for _, s := range scopes {
		if !s.Known || len(s.Windows) == 0 || chosen && s.Key != key {
			continue
		}
		key, chosen = s.Key, true
		name := "X-App-Rate-Limit"
		if s.Method != "" {
			name = "X-Method-Rate-Limit"
		}
		limits, counts := rates(s.Windows)
		h.Set(name, limits)
		h.Set(name+"-Count", counts)
	}
}

// rates writes windows as Riot does: "100:120,20:1" and "7:120,2:1", the longest first (R11).
func rates(windows []riftrelay.WindowState) (limits, counts string) {
	var l, c []byte
	for i := len(windows) - 1; i >= 0; i-- {
		w := windows[i]
		if l != nil {
			l, c = append(l, ','), append(c, ',')
		}
		l, c = appendRate(l, w.Limit, w.Window), appendRate(c, w.Used, w.Window)
	}
	return string(l), string(c)
}

func appendRate(b []byte, n int, window time.Duration) []byte {
	b = append(strconv.AppendInt(b, int64(n), 10), ':')
	return strconv.AppendInt(b, int64(window/time.Second), 10)
}
