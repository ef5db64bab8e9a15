package proxy

import (
	"net/url"
	"strings"
	"testing"
)

func TestDropAPIKey(t *testing.T) {
	many := strings.Repeat("a=1&", 10_000)
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"a=1", "a=1"},
		{"api_key=K", ""},
		{"%20api_key=K", ""},
		{"+api_key+%09=K&a=1", "a=1"},
		{"api_key%00=K", ""},
		{"api_key%20%20%20%20%20%20%20%20%20%20%20%20=K", ""},
		{"api_keyx=K&xapi_key=L&api%20_key=M", "api_keyx=K&xapi_key=L&api%20_key=M"},
		{"api_key", ""},
		{"api_key=", ""},
		{"api_key=K&a=1", "a=1"},
		{"a=1&api_key=K", "a=1"},
		{"a=1&api_key=K&b=2", "a=1&b=2"},
		{"api_key=K&api_key=L&a=1", "a=1"},
		{"a=1&api_key=K;b=2", "a=1;b=2"},
		{"a=1;api_key=K", "a=1"},
		{"a=1;api_key=K&b=2;c", "a=1&b=2;c"},
		{"%61pi_key=K&a=1", "a=1"},
		{"api%5Fkey=K&a=1", "a=1"},
		{"api%5fkey=K&a=1", "a=1"},
		{"%61%70%69%5f%6b%65%79=K", ""},
		{"API_KEY=K&Api_Key=L&%41pi_key=M", ""},
		{"a=%zz&api_key=K", "a=%zz"},
		{"%=%&api_key=K&%4", "%=%&%4"},
		{many + "api_key=K", many[:len(many)-1]},
		{"a=x=y&api_key==K&b", "a=x=y&b"},
		// Not that name: these pass, byte for byte.
		{"api_key2=K", "api_key2=K"},
		{"xapi_key=K", "xapi_key=K"},
		{"api_ke=K", "api_ke=K"},
		{"api_ke%7=K", "api_ke%7=K"},
		{"api%255Fkey=K", "api%255Fkey=K"},
		{"a=api_key", "a=api_key"},
		{"api-key=K", "api-key=K"},
		{"a=1&&b=2&", "a=1&&b=2&"},
		{"&;&", "&;&"},
		{"q=%E4%BD%A0+%2B%26;x&y=\xff", "q=%E4%BD%A0+%2B%26;x&y=\xff"},
		{"a?api_key=K", "a"},
	} {
		if got := dropAPIKey(tt.in); got != tt.want {
			t.Errorf("dropAPIKey(%.60q) = %.60q, want %.60q", tt.in, got, tt.want)
		}
	}
}

func TestDropAPIKeyAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { dropAPIKey("start=0&count=20&startTime=1700000000") }); n != 0 {
		t.Errorf("%v allocations for a query without a key, want 0", n)
	}
}

func FuzzDropAPIKey(f *testing.F) {
	for _, seed := range []string{
		"", "api_key=K", "a=1&api_key=K&b=2", "a=1;api_key=K", "%61pi_key=K&a=%zz", "API%5fKEY;&&;api_key", "&api_key&", ";api_key;a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := dropAPIKey(in)

		// What no reader may find: the strict parser cuts at '&' only and
		// drops what it can't decode, the lenient one cuts at both and takes
		// broken escapes literally.
		values, _ := url.ParseQuery(got)
		for name := range values {
			if strings.EqualFold(name, apiKey) && isASCII(name) {
				t.Errorf("%q: the strict parser still finds %q in %q", in, name, got)
			}
		}
		for _, p := range pieces(got) {
			if lenientName(p) == apiKey {
				t.Errorf("%q: the lenient parser still finds a key in %q", in, got)
			}
		}

		// All the rest is there, in order and unchanged.
		var want []string
		for _, p := range pieces(in) {
			if lenientName(p) != apiKey {
				want = append(want, p)
			}
		}
		if strings.Join(want, "\n") != strings.Join(pieces(got), "\n") && !(len(want) == 0 && got == "") { // Split("") is one piece
			t.Errorf("%q became %q: pieces %q, want %q", in, got, pieces(got), want)
		}
		if !subsequence(got, in) {
			t.Errorf("%q is no subsequence of %q", got, in)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

func pieces(query string) []string {
	return strings.Split(strings.NewReplacer(";", "&", "?", "&").Replace(query), "&")
}

// lenientName decodes what can be decoded, in a way of its own, and trims it.
func lenientName(piece string) string {
	name, _, _ := strings.Cut(piece, "=")
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			if s, err := url.PathUnescape(name[i : i+3]); err == nil {
				b.WriteString(s)
				i += 2
				continue
			}
		}
		if name[i] == '+' {
			b.WriteByte(' ')
			continue
		}
		b.WriteByte(name[i])
	}
	decoded := []byte(strings.TrimFunc(b.String(), func(r rune) bool { return r <= ' ' }))
	for i, c := range decoded {
		if 'A' <= c && c <= 'Z' {
			decoded[i] = c | 0x20
		}
	}
	return string(decoded)
}

func subsequence(sub, of string) bool {
	for i := 0; i < len(of) && sub != ""; i++ {
		if sub[0] == of[i] {
			sub = sub[1:]
		}
	}
	return sub == ""
}
