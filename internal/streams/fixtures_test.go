package streams

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The fixtures are what real Kafka Streams 3.9.2, 4.0.2 and 4.4.0 left on disk
// after restoring each store from its changelog, read through rocksdbjni.
const fixtureRoot = "../../testdata/fixtures"

type fixture struct {
	dir     string
	version Version
	profile string
	app     string
	eos     bool
	headers bool // dsl.store.format=HEADERS
	topics  map[string]map[int32][]record
}

type fixtureRecord struct {
	Partition int32
	Offset    int64
	Timestamp int64
	Key       *string
	Value     *string
	Headers   []struct {
		Key   string
		Value *string
	}
}

type record struct {
	offset, ts          int64
	key, value, headers []byte
}

// database is the rows of one directory, by family and key.
type database map[string]map[string]string

func loadFixtures(t *testing.T) []fixture {
	root := fixtureRoot
	if r := os.Getenv("SSTOOL_FIXTURES"); r != "" {
		root = r
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "fixture.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures under %s (%v)", root, err)
	}
	var out []fixture
	for _, f := range files {
		var j struct{ Kafka, Profile, Mode, App, Args string }
		readJSON(t, f, &j)
		v, err := ParseVersion(j.Kafka)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fixture{filepath.Dir(f), v, j.Profile, j.App, j.Mode == "eos", strings.Contains(j.Args, "HEADERS"),
			map[string]map[int32][]record{}})
	}
	return out
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// eachLine calls fn for each line of path or path.gz.
func eachLine(t *testing.T, path string, fn func([]byte)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		f, err = os.Open(path + ".gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(f.Name(), ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		fn(s.Bytes())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
}

// records reads a topic of the fixture.
func (f fixture) records(t *testing.T, topic string) map[int32][]record {
	if r, ok := f.topics[topic]; ok {
		return r
	}
	out := map[int32][]record{}
	f.topics[topic] = out
	eachLine(t, filepath.Join(f.dir, "topics", topic+".jsonl.gz"), func(line []byte) {
		var j fixtureRecord
		if err := json.Unmarshal(line, &j); err != nil {
			t.Fatal(err)
		}
		r := record{offset: j.Offset, ts: j.Timestamp, key: unhex(t, j.Key), value: unhex(t, j.Value)}
		r.headers = binary.AppendVarint(r.headers, int64(len(j.Headers)))
		for _, h := range j.Headers {
			r.headers = binary.AppendVarint(r.headers, int64(len(h.Key)))
			r.headers = append(r.headers, h.Key...)
			if h.Value == nil {
				r.headers = binary.AppendVarint(r.headers, -1)
				continue
			}
			v := unhex(t, h.Value)
			r.headers = binary.AppendVarint(r.headers, int64(len(v)))
			r.headers = append(r.headers, v...)
		}
		out[j.Partition] = append(out[j.Partition], r)
	})
	return out
}

func unhex(t *testing.T, s *string) []byte {
	if s == nil {
		return nil
	}
	b, err := hex.DecodeString(*s)
	if err != nil {
		t.Fatal(err)
	}
	if b == nil {
		b = []byte{}
	}
	return b
}

// restored reads what Kafka Streams left: directory -> family -> key -> value.
func (f fixture) restored(t *testing.T) map[string]database {
	out := map[string]database{}
	eachLine(t, filepath.Join(f.dir, "restored-rows.jsonl"), func(line []byte) {
		var j struct {
			DB, CF     string
			Key, Value *string
		}
		if err := json.Unmarshal(line, &j); err != nil {
			t.Fatal(err)
		}
		db := out[j.DB]
		if db == nil {
			db = database{}
			out[j.DB] = db
		}
		if db[j.CF] == nil {
			db[j.CF] = map[string]string{}
		}
		if j.Key != nil {
			db[j.CF][*j.Key] = *j.Value
		}
	})
	return out
}

// fixtureStores are the stores of a profile's topology; topic is empty for the
// store's own changelog. See the harness that made the fixtures.
func (f fixture) stores(t *testing.T) (stores map[string]Store, topics map[string]string) {
	min := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
	stores, topics = map[string]Store{}, map[string]string{}
	add := func(name string, kind Kind, keep time.Duration, opts ...func(*Store)) {
		s := Store{Name: name, Kind: kind, Headers: f.headers && kind.HasHeaders()}
		if kind == Versioned {
			s.HistoryRetention = keep
		} else {
			s.Retention = keep
		}
		s.SegmentInterval = DefaultSegmentInterval(kind, keep)
		for _, o := range opts {
			o(&s)
		}
		stores[name] = s
	}
	noHeaders := func(s *Store) { s.Headers = false }
	index := func(s *Store) { s.WithIndex = true }
	global := func(s *Store) { s.Global = true }
	switch f.profile {
	case "papi":
		add("plain-kv", KV, 0)
		add("ts-kv", TimestampedKV, 0)
		add("versioned", Versioned, min(30))
		add("plain-win", Window, min(20))
		add("dup-win", Window, min(20))
		add("ts-win", TimestampedWindow, min(20))
		add("session", Session, min(20))
	case "papi-h":
		headers := func(s *Store) { s.Headers = true }
		add("h-kv", TimestampedKV, 0, headers)
		add("h-win", TimestampedWindow, min(20), headers)
		add("h-session", Session, min(20), headers)
	case "agg":
		for _, n := range []string{"cnt", "flt", "tcnt", "cog", "totable", "KSTREAM-REDUCE-STATE-STORE-*", "KSTREAM-AGGREGATE-STATE-STORE-*"} {
			add(n, TimestampedKV, 0)
		}
		add("adapter-cnt", KV, 0)
		add("vtbl", Versioned, min(30))
	case "win":
		add("win-cnt", TimestampedWindow, min(6))
		add("win-emit", TimeOrderedWindow, min(6))
		add("slide", TimestampedWindow, min(7))
		add("slide-emit", TimeOrderedWindow, min(7), index)
		add("sess", Session, min(6.5))
		add("sess-emit", TimeOrderedSession, min(6.5))
		add("adapter-win", Window, min(6), noHeaders)
	case "ssjoin":
		for _, n := range []string{"KSTREAM-JOIN*-store", "KSTREAM-OUTERTHIS-*-store", "KSTREAM-OUTEROTHER-*-store", "*-this-join-store", "*-other-join-store"} {
			add(n, Window, min(34))
		}
		add("KSTREAM-OUTERSHARED-*-store", List, 0)
		add("*-shared-join-store", List, 0)
	case "tjoin":
		for _, n := range []string{"t1", "*t2-STATE-STORE-*", "t1t2", "fk-out"} {
			add(n, TimestampedKV, 0)
		}
		add("*SUBSCRIPTION-STATE-STORE-*", FKSubscription, 0)
		add("*-subscription-store", FKSubscription, 0)
		add("vt", Versioned, min(60))
		add("gj-Buffer", GraceBuffer, 0)
		add("gtbl", TimestampedKV, 0, global)
		topics["gtbl"] = f.app + "-g"
	case "opt":
		for _, n := range []string{"src-tbl", "*t2-STATE-STORE-*", "j", "c1", "KSTREAM-AGGREGATE-STATE-STORE-*"} {
			add(n, TimestampedKV, 0)
		}
		topics["src-tbl"] = f.app + "-t1"
		topics["*t2-STATE-STORE-*"] = f.app + "-t2"
	default:
		t.Fatalf("profile %s", f.profile)
	}
	return stores, topics
}
