package daemon

import (
	"bytes"
	"crypto/sha256"
	"time"

	"riftrelay/internal/files"
)

// unfinished returns how much longer files may be in the middle of being written;
// 0 means that they aren't.
func (w *watched) unfinished(now time.Time) time.Duration {
	sum, whole := sha256.New(), true
	for _, name := range w.files {
		data, err := files.Read(name)
		if err != nil {
			return 0 // again says what is wrong
		}
		whole = whole && (len(data) == 0 || bytes.HasSuffix(data, []byte("\n")))
		sum.Write(data)
	}
	if whole {
		return 0
	}
	if seen := [sha256.Size]byte(sum.Sum(nil)); seen != w.seen {
		w.seen, w.since = seen, now
	}
	return max(0, files.Stable-now.Sub(w.since))
}
