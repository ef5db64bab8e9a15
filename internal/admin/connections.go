package admin

// Connections are those of clients at one listener.
type Connections struct {
	Listener string   `json:"listener"` // relay or admin
	Most     int      `json:"most"`
	Open     int      `json:"open"`
	Silent   int      `json:"silent"`             // of the open ones, have sent nothing
	Begun    int      `json:"begun"`              // have sent half a head, or half a handshake
	Active   int      `json:"active"`             // have a request
	Idle     int      `json:"idle"`               // are kept for another request
	Ending   int      `json:"ending"`             // have had their last answer
	Closed   int      `json:"closed"`             // without a request, for other clients, since the start
	Refused  int      `json:"refused"`            // because their address had its share of calls, since the start
	Full     *Seconds `json:"full_since_seconds"` // since a connection last found no room; null = never
}
