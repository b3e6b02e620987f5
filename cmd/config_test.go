package cmd

import (
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestParseConfig(t *testing.T) {
	conf, err := parseConfig("/etc/sstool/config.yaml", []byte(`
current-context: prod
contexts:
  prod:
    bootstrap-server: a:9092,b:9092
    cluster-id: abc
    state-dir: state
  empty:
`), "/home/me")
	if err != nil {
		t.Fatal(err)
	}
	if conf.current != "prod" || strings.Join(conf.names(), " ") != "prod empty" {
		t.Fatalf("got %+v", conf)
	}
	want := []setting{{"bootstrap-server", "a:9092,b:9092", 5}, {"cluster-id", "abc", 6}, {"state-dir", "/etc/sstool/state", 7}}
	for i, s := range conf.contexts[0].settings {
		if s != want[i] {
			t.Errorf("setting %d is %+v, want %+v", i, s, want[i])
		}
	}
}

func TestParseConfigComplaintsNameTheLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"curent-context: prod\n", `c.yaml:1: unknown key "curent-context"; known: current-context, contexts`},
		{"contexts:\n  prod:\n    bootstrap-servers: x\n", `c.yaml:3: unknown key "bootstrap-servers" in a context`},
		{"contexts:\n  prod: {state-dir: [a]}\n", "c.yaml:2: state-dir must be one value"},
		{"contexts: [a]\n", "c.yaml:1: contexts must be a mapping"},
		{"contexts:\n  a: {state-dir: x}\n  a: {state-dir: y}\n", `c.yaml:3: "a" is there twice`},
		{"- a\n", "c.yaml:1: the config file must be a mapping"},
		{"current-context: {a: b}\n", "c.yaml:1: current-context must be a name"},
		{"a: b: c\n", "c.yaml: "},
	} {
		_, err := parseConfig("c.yaml", []byte(c.text), "")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || op.KindOf(err) != op.Usage {
			t.Errorf("%q: got %v, want usage error %q", c.text, err, c.want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("current-context: a\ncontexts:\n  a: {cluster-id: x}\n"))
	f.Add([]byte("contexts: &a\n  b: *a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if conf, err := parseConfig("c.yaml", b, "/h"); err == nil {
			for _, c := range conf.contexts {
				for _, s := range c.settings {
					if s.line < 1 {
						t.Errorf("setting %s has no line", s.key)
					}
				}
			}
		}
	})
}
