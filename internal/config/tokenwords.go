package config

import (
	"slices"

	"riftrelay/internal/tokens"
	"riftrelay/route"
)

// wordOfRiots returns a path or a host of Riot's with a token in it, "" if there is
// none. The proxy takes such a call for one that would tell the token.
func (d *draft) wordOfRiots(table *route.Table) string {
	var owners [][]tokens.Token
	for _, c := range d.clients {
		owners = append(owners, c.Tokens)
	}
	if table == nil || len(owners) == 0 {
		return ""
	}
	known := tokens.NewSet(owners)
	for _, m := range table.Methods() {
		if known.Within(m.Template) {
			return m.Template
		}
	}
	if i := slices.IndexFunc(table.Hosts(), known.Within); i >= 0 {
		return table.Hosts()[i]
	}
	return ""
}
