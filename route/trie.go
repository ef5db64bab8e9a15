package route

// node is one segment of the templates that share the segments before it.
type node struct {
	literal  string
	literals []*node   // children that compare
	param    *node     // the child that takes any segment
	methods  []*Method // the templates that end here, one for each verb
}

// add places m under its template's segments.
func (n *node) add(m *Method) {
	for _, segment := range segmentsOf(m.Template) {
		n = n.child(segment)
	}
	n.methods = append(n.methods, m)
}

func (n *node) child(segment string) *node {
	if isParam(segment) {
		if n.param == nil {
			n.param = &node{}
		}
		return n.param
	}
	for _, c := range n.literals {
		if c.literal == segment {
			return c
		}
	}
	c := &node{literal: segment}
	n.literals = append(n.literals, c)
	return c
}

// find returns the method of verb whose template takes the segments, or nil. A literal goes before a parameter, and
// where it leads nowhere the parameter is tried. It visits a node at most once, so no path costs more than the table's size.
func (n *node) find(verb string, segments []string) *Method {
	for len(segments) > 0 {
		next := n.literalChild(segments[0])
		switch {
		case next == nil && n.param == nil:
			return nil
		case next == nil:
			next = n.param
		case n.param != nil:
			if m := next.find(verb, segments[1:]); m != nil {
				return m
			}
			next = n.param
		}
		n, segments = next, segments[1:]
	}
	for _, m := range n.methods {
		if m.Verb == verb {
			return m
		}
	}
	return nil
}

// literalChild is a plain scan: Riot's paths branch little, and comparing lengths first settles nearly every try.
func (n *node) literalChild(segment string) *node {
	for _, c := range n.literals {
		if c.literal == segment {
			return c
		}
	}
	return nil
}

// all appends every method whose template takes the segments, whatever its verb.
func (n *node) all(segments []string, to []*Method) []*Method {
	if len(segments) == 0 {
		return append(to, n.methods...)
	}
	if c := n.literalChild(segments[0]); c != nil {
		to = c.all(segments[1:], to)
	}
	if n.param != nil {
		to = n.param.all(segments[1:], to)
	}
	return to
}
