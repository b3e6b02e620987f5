package spec

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

const orders = `application-id: orders
processing-guarantee: exactly_once_v2     # or at_least_once
kafka-version: "4.4"                      # of the application that will open the result
stores:
  - {name: account-payment-total, kind: timestamped-kv, subtopology: 0}
  - {name: clicks, kind: timestamped-window, subtopology: 1, retention: 20m, segment-interval: 10m}
  - {name: prices, kind: versioned, subtopology: 1, history-retention: 7d}
  - {name: customers, kind: timestamped-kv, global: true, topic: customers}
  - {name: regions, kind: kv, global: copy, topic: regions}
  - {name: emitted, kind: time-ordered-window, subtopology: 2, retention: 1d12h, segment-interval: 18h, with-index: true, partitions: "0,2-4"}
  - {name: seen, kind: timestamped-kv, headers: true, subtopology: 2, partitions: [7, 1]}
  - {name: table, kind: timestamped-kv, subtopology: 3, topic: input, source-topic: true}
`

func TestParse(t *testing.T) {
	s, err := Parse("orders.yaml", strings.NewReader(orders))
	if err != nil {
		t.Fatal(err)
	}
	if s.ApplicationID != "orders" || s.Guarantee != ExactlyOnce || s.KafkaVersion != "4.4" {
		t.Errorf("head %q %q %q", s.ApplicationID, s.Guarantee, s.KafkaVersion)
	}
	same(t, "stores", summaries(s), []string{
		"account-payment-total timestamped-kv sub=0",
		"clicks timestamped-window sub=1 interval=10m retention=20m",
		"prices versioned sub=1 history=7d",
		"customers timestamped-kv global topic=customers",
		"regions kv global topic=regions",
		"emitted time-ordered-window sub=2 interval=18h retention=36h index=true",
		"seen timestamped-kv headers sub=2",
		"table timestamped-kv sub=3 topic=input source",
	})
	if !s.Stores[4].GlobalCopy || s.Stores[3].GlobalCopy {
		t.Error("global: copy is not kept apart from global: true")
	}
	if p := s.Stores[5].Partitions; !slices.Equal(p, []int32{0, 2, 3, 4}) {
		t.Errorf("partitions %v", p)
	}
	if p := s.Stores[6].Partitions; !slices.Equal(p, []int32{1, 7}) {
		t.Errorf("partitions %v", p)
	}
	if src := s.Stores[1].From[FieldRetention]; !src.Certain || src.Text != "orders.yaml line 6" {
		t.Errorf("source of retention %+v", src)
	}
	if m := s.Stores[2].Missing(); !slices.Equal(m, []Field{FieldSegmentInterval}) {
		t.Errorf("prices misses %v, want its segment interval", m)
	}
	checkPrint(t, s)
}

func TestParseErrors(t *testing.T) {
	head := "application-id: orders\nstores:\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "empty, expected at least application-id and stores"},
		"not yaml":           {"a: [", "not YAML: "},
		"a list":             {"- a\n", "line 1: the specification is not a mapping"},
		"two documents":      {orders + "---\na: b\n", "more than one document"},
		"unknown key":        {"application-id: a\nstore: b\n", "line 2: unknown key \"store\""},
		"twice":              {"application-id: a\napplication-id: b\n", "line 2: application-id is given twice, first in line 1"},
		"no id":              {"stores:\n  - {name: a}\n", "no application-id"},
		"bad id":             {"application-id: a/b\n", "line 1: "},
		"no stores":          {"application-id: a\n", "no stores"},
		"empty stores":       {"application-id: a\nstores: []\n", "line 2: stores is not a list of at least one store"},
		"no value":           {"application-id:\n", "line 1: application-id has no value"},
		"guarantee":          {"application-id: a\nprocessing-guarantee: maybe\n", "line 2: processing-guarantee \"maybe\", expected at_least_once or exactly_once_v2"},
		"version":            {"application-id: a\nkafka-version: new\n", "line 2: "},
		"old version":        {"application-id: a\nkafka-version: 2.8\n", "line 2: "},
		"store twice":        {head + "  - {name: a}\n  - {name: b}\n  - {name: a}\n", "line 5: store \"a\" is given twice, first in line 3"},
		"no name":            {head + "  - {kind: kv}\n", "line 3: a store without a name"},
		"bad name":           {head + "  - {name: \"a b\"}\n", "line 3: "},
		"not a store":        {head + "  - a\n", "line 3: a store is not a mapping"},
		"unknown field":      {head + "  - name: a\n    retain: 5m\n", "line 4: unknown key \"retain\" of a store"},
		"bad kind":           {head + "  - name: a\n    kind: rocks\n", "line 4: unknown store kind \"rocks\""},
		"bad duration":       {head + "  - name: a\n    kind: window\n    retention: 20\n", "line 5: retention: \"20\" is not a duration"},
		"zero":               {head + "  - {name: a, kind: window, retention: 0s}\n", "line 3: retention: \"0s\", expected more than nothing"},
		"retention of kv":    {head + "  - name: a\n    kind: kv\n    retention: 20m\n", "line 5: retention does not fit a store of kind kv"},
		"history of window":  {head + "  - {name: a, kind: window, history-retention: 20m}\n", "does not fit a store of kind window"},
		"index of session":   {head + "  - {name: a, kind: session, with-index: true}\n", "with-index does not fit"},
		"headers of list":    {head + "  - {name: a, kind: list, headers: true}\n", "headers does not fit"},
		"global task":        {head + "  - {name: a, kind: kv, global: true, subtopology: 1}\n", "subtopology does not fit a global store"},
		"global maybe":       {head + "  - {name: a, global: maybe}\n", "global \"maybe\", expected true or false, or copy"},
		"headers maybe":      {head + "  - {name: a, headers: 1}\n", "headers \"1\", expected true or false"},
		"bad subtopology":    {head + "  - {name: a, subtopology: -1}\n", "subtopology \"-1\", expected a number"},
		"bad topic":          {head + "  - {name: a, topic: \"x y\"}\n", "line 3: "},
		"bad partitions":     {head + "  - {name: a, partitions: 5-2}\n", "partitions: \"5-2\", expected numbers like 0,2-5"},
		"no partitions":      {head + "  - {name: a, partitions: []}\n", "partitions: none"},
		"huge partitions":    {head + "  - {name: a, partitions: 0-2000000000}\n", "expected numbers like"},
		"source, no topic":   {head + "  - {name: a, source-topic: true}\n", "source-topic needs the topic"},
		"a map as the value": {head + "  - {name: {a: b}}\n", "line 3: name has no value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("spec.yaml", strings.NewReader(c.text))
			if err == nil || op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "spec.yaml") {
				t.Errorf("got %v, want a usage error with %q", err, c.want)
			}
		})
	}
}

func TestDurations(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"20m": 20 * time.Minute, "7d": 7 * 24 * time.Hour, "36h": 36 * time.Hour, "1d12h": 36 * time.Hour,
		"500ms": 500 * time.Millisecond, "1m30s": 90 * time.Second, "0s": 0, "1d2h3m4s5ms": 26*time.Hour + 3*time.Minute + 4*time.Second + 5*time.Millisecond,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "5", "m", "5x", "-5m", "5m5m", "5s5m", "1.5h", " 5m", "5 m", "9999999999999d", "99999999999999999999s"} {
		if d, err := ParseDuration(in); err == nil {
			t.Errorf("%q: %v, want an error", in, d)
		}
	}
	for _, want := range []time.Duration{0, time.Millisecond, 90 * time.Second, 36 * time.Hour, 7 * 24 * time.Hour, 390 * time.Second, time.Duration(math.MaxInt64/1_000_000) * time.Millisecond} {
		if got, err := ParseDuration(FormatDuration(want)); err != nil || got != want {
			t.Errorf("%v printed as %q, read as %v, %v", want, FormatDuration(want), got, err)
		}
	}
}

// FuzzParse reads any text: a usage error, or a specification that survives
// being printed and read again.
func FuzzParse(f *testing.F) {
	f.Add(orders)
	f.Add(`{"kind":"spec","version":1,"application_id":"o","stores":[{"name":"a","global":true,"global_copy":true,"topic":"t","from":{"kind":{"text":"x","certain":false}}}]}`)
	f.Add("application-id: &a orders\nstores: [{name: *a}]\n")
	f.Add("application-id: '1'\nstores:\n- name: null-\n  kind: versioned\n  history-retention: 0s\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("fuzz", strings.NewReader(text))
		if err != nil {
			if op.KindOf(err) != op.Usage {
				t.Errorf("%v, want a usage error", err)
			}
			return
		}
		var b bytes.Buffer
		if err := Print(&b, s, PrintOptions{AcceptDerived: true}); err != nil {
			t.Fatal(err)
		}
		printed := b.String()
		back, err := Parse("fuzz", &b)
		if err != nil {
			t.Fatalf("%v in\n%s", err, printed)
		}
		if !slices.Equal(summaries(back), summaries(s)) || back.ApplicationID != s.ApplicationID || back.Guarantee != s.Guarantee || back.KafkaVersion != s.KafkaVersion {
			t.Errorf("%+v was printed as\n%s", s, printed)
		}
	})
}

// TestParseDocument reads what sstool spec -o json writes.
func TestParseDocument(t *testing.T) {
	const text = `{"kind":"spec","version":1,"application_id":"orders","processing_guarantee":null,"kafka_version":"4.4","stores":[
 {"name":"clicks","kind":"window","kind_candidates":[],"headers":false,"subtopology":1,"global":false,"global_copy":false,"topic":null,
  "source_topic":false,"retention":"20m","segment_interval":"10m","history_retention":null,"with_index":false,"missing":[],
  "from":{"kind":{"text":"rows","certain":true},"retention":{"text":"retention.ms","certain":false}},"notes":["a note"]},
 {"name":"regions","kind":"kv","subtopology":null,"global":true,"global_copy":true,"topic":"regions","with_index":false,"from":{},"notes":[]},
 {"name":"emitted","kind":"time-ordered-window","subtopology":2,"retention":"2h","segment_interval":"1h","with_index":false,
  "from":{"with-index":{"text":"rows","certain":true}},"notes":[]}],"from":{},"notes":[]}`
	s, err := Parse("orders.json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stores", summaries(s), []string{"clicks window sub=1 interval=10m retention=20m", "regions kv global topic=regions", "emitted time-ordered-window sub=2 interval=1h retention=2h index=false"})
	if !s.Stores[1].GlobalCopy {
		t.Error("regions is no copy")
	}
	if got := s.Stores[0].Uncertain(); !slices.Equal(got, []Field{FieldRetention}) {
		t.Errorf("uncertain: %v, want what was derived: retention", got)
	}
	if got := s.Stores[2].Missing(); len(got) > 0 {
		t.Errorf("missing %v, but with_index is certainly false", got)
	}
	for _, bad := range []string{
		strings.Replace(text, `"version":1`, `"version":2`, 1),
		strings.Replace(text, `"topic":null`, `"colour":"red"`, 1),
		strings.Replace(text, `"from":{"kind"`, `"from":[],"x":{"kind"`, 1),
		strings.Replace(text, `"name":"clicks"`, `"name":null`, 1),
		`{"kind":"spec","version":1,"application_id":"orders","stores":[1]}`,
		`{"kind":"spec","version":1,"application_id":"orders"}`,
	} {
		if _, err := Parse("orders.json", strings.NewReader(bad)); op.KindOf(err) != op.Usage {
			t.Errorf("%.60s…: %v, want a usage error", bad, err)
		}
	}
}
