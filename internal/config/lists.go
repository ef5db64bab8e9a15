package config

import (
	"fmt"
	"riftrelay"
	"slices"
	"strconv"
	"strings"
)

// parseRetry reads "502,503,504,reset,timeout": any of them, in any order.
func parseRetry(s string) (riftrelay.Retry, error) {
	var r riftrelay.Retry
	for item := range strings.SplitSeq(s, ",") {
		switch item = strings.TrimSpace(item); item {
		case "":
		case "reset":
			r.Reset = true
		case "timeout":
			r.Timeout = true
		default:
			n, err := strconv.Atoi(item)
			if err != nil || n < 500 || n > 599 {
				return riftrelay.Retry{}, fmt.Errorf("invalid retry condition %q: want 5xx codes, reset or timeout", item)
			}
			r.Statuses = append(r.Statuses, n)
		}
	}
	return r, nil
}

// parseAliases reads "tft/summoner/v1@euw1,eun1,tr1,ru; tft/match/v1@asia,sea".
func parseAliases(s string) ([]riftrelay.Alias, error) {
	var aliases []riftrelay.Alias
	for item := range strings.SplitSeq(s, ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		path, hosts, ok := strings.Cut(item, "@")
		a := riftrelay.Alias{Path: "/" + strings.Trim(strings.TrimSpace(path), "/")}
		for h := range strings.SplitSeq(hosts, ",") {
			a.Hosts = append(a.Hosts, strings.TrimSpace(h))
		}
		if !ok || len(a.Path) < 2 || len(a.Hosts) < 2 || slices.Contains(a.Hosts, "") {
			return nil, fmt.Errorf("invalid shared limit %q: want path@host,host, as in tft/summoner/v1@euw1,eun1", item)
		}
		aliases = append(aliases, a)
	}
	return aliases, nil
}

// parseOverrides reads "kr:lol/match/v5=0.2,lol/league=0.5": the form
// [host:]path=share, several separated by commas.
func parseOverrides(s string) ([]riftrelay.ShareOverride, error) {
	var list []riftrelay.ShareOverride
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		where, text, ok := strings.Cut(item, "=")
		host, path, hosted := strings.Cut(where, ":")
		if !hosted {
			host, path = "", where
		}
		o := riftrelay.ShareOverride{Host: strings.TrimSpace(host), Path: "/" + strings.Trim(strings.TrimSpace(path), "/")}
		share, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if o.Share = share; !ok || err != nil || hosted && o.Host == "" || !(share > 0 && share <= 1) {
			return nil, fmt.Errorf("invalid budget override %q: want [host:]path=share with a share above 0 and at most 1, as in kr:lol/match/v5=0.2", item)
		}
		list = append(list, o)
	}
	return list, nil
}
