package config

import (
	"strconv"
	"strings"
	"testing"

	"riftrelay"
)

// What config accepts, the library must accept, and the other way round: the rule is written down twice.
func TestKeysFollowTheLibrarysRule(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, text := range []string{
		"a", "a,b", "n=a", "n=a,n=b", "a,a", "n.-_9=a", "n!=a", "=a", "n=", "ä=a", "n=ä", "n=a b", long + "=a", long + "x=a",
		strings.Repeat("v", 256), strings.Repeat("v", 257), "key1=a,b", "a,key0=b", strings.Repeat("v,", 1025) + "v", "n=\x7f", "n=~!",
	} {
		list, problems := readKeys(strings.Split(text, ","), strconv.Itoa)
		if len(problems) > 0 && list == nil { // too many
			list = make([]riftrelay.Key, 1025)
		}
		for i := range list {
			if list[i].Name == "" {
				list[i].Name = "?" // the library would name it; here it was written "=key"
			}
		}
		l, err := riftrelay.New(riftrelay.Config{Keys: list})
		if err == nil {
			l.Close()
		}
		if (err == nil) != (len(problems) == 0) {
			t.Errorf("%.70q: config says %v, the library %v", text, problems, err)
		}
	}
}

func TestLimiterConfig(t *testing.T) {
	w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "QUEUE_CAPACITY": "0", "ADMISSION_TIMEOUT": "0"}}
	c := mustParse(t, w).Settings.Limiter()
	if c.QueueCapacity != -1 || c.AdmissionTimeout != -1 || c.QueueTotal != 100_000 || c.Table == nil || len(c.Keys) != 1 {
		t.Errorf("0 must become the library's \"none\": %+v", c)
	}
	l, err := riftrelay.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
