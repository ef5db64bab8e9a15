package daemon

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"riftrelay/internal/config"
	"riftrelay/internal/trust"
)

// trust makes the local authority, if there is none, and shows what each
// runtime needs to trust it.
func (p Process) trust(s *config.Settings) error {
	if s.TrustDir == "" {
		return errors.New("TRUST_DIR is not set; allowed: a directory for the local authority, as in riftrelay trust --trust-dir ./trust")
	}
	a, err := trust.Open(s.TrustDir, nil)
	if err != nil {
		return err
	}
	_, colored := terminal(p.Stdout)
	_, err = io.WriteString(p.Stdout, trustText(a, s.LocalURL(), ink(colored && !p.noColor())))
	return err
}

// trustText is written so that its lines can be copied into a shell.
func trustText(a *trust.Authority, relay string, c ink) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	remark := func(text string) { line("%s", c.in(dim, "# "+text)) }
	set := func(name, value string) { line("export %s=%s", c.in(cyan, name), value) }
	head := func(text string) { line(""); line("%s", c.in(bold, "# "+text)) }

	file := quoteForShell(a.File())
	host, port, _ := strings.Cut(strings.TrimPrefix(relay, "http://"), ":")
	if i := strings.LastIndexByte(relay, ':'); i > len("http://") { // an IPv6 address has colons of its own
		host, port = relay[len("http://"):i], relay[i+1:]
	}

	line("%s", c.in(bold, "# The local authority of this relay"))
	remark("certificate  " + a.File())
	remark("valid for    names under " + trust.Domain + ", and nothing else")
	remark("valid until  " + a.Certificate().NotAfter.Format("2006-01-02"))
	remark("SHA-256      " + a.Fingerprint())

	head("All: the relay runs with the same TRUST_DIR, and the client goes through it")
	set("HTTPS_PROXY", relay)
	head("Node.js (24 and later use HTTPS_PROXY by themselves only with NODE_USE_ENV_PROXY)")
	set("NODE_EXTRA_CA_CERTS", file)
	set("NODE_USE_ENV_PROXY", "1")
	head("Python: requests, RiotWatcher, cassiopeia")
	remark("In place of all other authorities. For other sites as well: cat \"$(python3 -m certifi)\" " + file + " > all.pem")
	set("REQUESTS_CA_BUNDLE", file)
	head("Go, Ruby, .NET and Rust on Linux, and whatever else uses OpenSSL's variable")
	set("SSL_CERT_FILE", file)
	head("Java")
	line("keytool -importcert -noprompt -alias riftrelay -file %s -keystore riftrelay.p12 -storetype PKCS12 -storepass changeit", file)
	line("export %s=\"-Dhttps.proxyHost=%s -Dhttps.proxyPort=%s -Djavax.net.ssl.trustStore=riftrelay.p12 -Djavax.net.ssl.trustStorePassword=changeit\"",
		c.in(cyan, "JAVA_TOOL_OPTIONS"), strings.Trim(host, "[]"), port)
	head(".NET elsewhere: the system's store of this user")
	remark("Windows  certutil -user -addstore Root " + a.File())
	remark("macOS    security add-trusted-cert -r trustRoot -k ~/Library/Keychains/login.keychain-db " + file)
	head("curl")
	line("curl --proxy %s --cacert %s https://euw1.%s/lol/status/v4/platform-data", relay, file, trust.Domain)
	return b.String()
}

// quoteForShell quotes what a shell would take apart.
func quoteForShell(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
