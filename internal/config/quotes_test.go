package config

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

// Quotes and spaces around keys, which docker --env-file and Windows' set keep,
// are taken off. Inside a key they are refused.
func TestQuotesAroundKeys(t *testing.T) {
	for text, want := range map[string]string{
		`"RGAPI-aaaa-bbbb"`: "RGAPI-aaaa-bbbb", `'main=RGAPI-a'`: "RGAPI-a", "\x20main = \"RGAPI-a\"\x20": "RGAPI-a", `"a=RGAPI-a,b=RGAPI-b"`: "RGAPI-a",
	} {
		if got := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": text}}).Settings.Keys(); got[0].Value != want {
			t.Errorf("%s is read as %q", text, got[0].Value)
		}
	}
	for _, text := range []string{`"RGAPI-a`, `RGAPI-a"`, `RGAPI-a"b`} {
		if list, problems := readKeys([]string{text}, func(int) string { return "key" }); len(problems) != 1 {
			t.Errorf("%s: %v, %v", text, list, problems)
		}
	}
}

// Windows PowerShell 5.1 writes files in UTF-16.
func TestKeyFileInUTF16(t *testing.T) {
	const text = "\ufeffmain=RGAPI-aaaa-bbbb\r\n# two\r\nRGAPI-cccc\r\n"
	units := utf16.Encode([]rune(text))
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var data []byte
		for _, u := range units {
			data = order.AppendUint16(data, u)
		}
		list, problems := parseKeyFile(data)
		if len(problems) > 0 || len(list) != 2 || list[0].Value != "RGAPI-aaaa-bbbb" || list[1].Value != "RGAPI-cccc" {
			t.Errorf("%v: %v, %v", order, list, problems)
		}
		if _, problems := parseTokenFile(data[2:]); len(problems) != 1 || problems[0][:9] != "is UTF-16" {
			t.Errorf("a file of tokens without a byte order mark: %q", problems)
		}
		if _, problems := parseKeyFile(data[2:]); len(problems) != 1 || problems[0][:9] != "is UTF-16" {
			t.Errorf("%v, without a mark: %v", order, problems)
		}
	}
}
