package daemon

import (
	"net/http"
	"testing"
)

// All connections together leave descriptors for files, however few there are.
func TestPlacesLeaveRoomForCalls(t *testing.T) {
	for _, descriptors := range []int{128, 256, 1024, 20_000, 1 << 20} {
		var base http.Transport
		reserve(&base, descriptors)
		clients := places(descriptors)
		if base.MaxConnsPerHost < clients {
			t.Errorf("%d descriptors: %d clients, and %d calls at once", descriptors, clients, base.MaxConnsPerHost)
		}
		if all := clients + base.MaxConnsPerHost + base.MaxIdleConns + adminPlaces(descriptors); all+32 > descriptors {
			t.Errorf("%d descriptors: %d connections", descriptors, all)
		}
	}
}
