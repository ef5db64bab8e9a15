package route

// Auth says whose credentials a method takes.
type Auth uint8

const (
	// AuthKey is the application's key, sent in X-Riot-Token.
	AuthKey Auth = iota
	// AuthRSO is the player's bearer token. Such a call carries no key and has no application limit (R5).
	AuthRSO
)

// String is the word that methods.tsv uses: "key" or "RSO".
func (a Auth) String() string {
	if a == AuthRSO {
		return "RSO"
	}
	return "key"
}

// UnknownTemplate is the Template of the one method that stands for every unknown path when
// [Options.ForwardUnknownPaths] is set.
const UnknownTemplate = "{unknown}"

// Method is one row of Riot's method table. Within a [Table] a method has one address, so pointers can be compared and
// used as map keys; two tables never share methods. Nobody changes a Method that a Table has handed out.
type Method struct {
	Verb     string   // "GET"; "" for the method of UnknownTemplate, which takes every verb
	Template string   // "/lol/match/v5/matches/{matchId}"
	Service  string   // "match-v5"
	Auth     Auth     // whose credentials it takes
	Hosts    []string // the listed hosts that serve it, sorted; nil = every host

	label  string   // what String returns
	served []uint64 // Hosts as bits, by the table's host numbers; nil = every host
}

// String names the method in labels and messages: the template for GET, "PUT /lol/…" for any other verb.
// It does not allocate for a method of a Table.
func (m *Method) String() string {
	if m.label == "" {
		return label(m.Verb, m.Template)
	}
	return m.label
}

func label(verb, template string) string {
	if verb == "GET" || verb == "" {
		return template
	}
	return verb + " " + template
}

func (m *Method) serves(host int) bool {
	return m.served == nil || m.served[host>>6]&(1<<(host&63)) != 0
}

// Route is what a call is counted under: the host (R4) and the method (R7). It is comparable.
type Route struct {
	Host   string  // "euw1"
	Method *Method // of the Table that made the route; nil only in the zero Route
}

// String is the label of the route's bucket: "euw1:/lol/…", "americas:PUT /lol/…".
func (r Route) String() string {
	if r.Method == nil {
		return r.Host + ":"
	}
	return r.Host + ":" + r.Method.String()
}
