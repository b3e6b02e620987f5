package worldtest

import (
	"slices"
	"strings"
	"time"
)

// Profile is one kind of application: the topology is in testdata/world, this
// is what a restore needs to know of its stores.
type Profile struct {
	Name       string // the entry's own name
	Topology   string // the --profile of the harness
	Settings   map[string]string
	MinVersion string // of Kafka Streams; empty for all
	Records    int    // input per topic that shows every effect, and is consumed within seconds
	stores     []Store
}

// Store is what is true of one store, in the words of a store specification.
type Store struct {
	Name             string
	Kind             string
	Headers          bool
	Retention        time.Duration // windows and sessions
	SegmentInterval  time.Duration // windows, sessions, versioned
	HistoryRetention time.Duration // versioned
	Index            bool          // time-ordered windows: index rows are written
	Subtopology      int
	Partitions       int
	Global           bool
	Processor        bool   // a global store that the application's own processor fills: not the topic's rows
	Topic            string // the changelog; empty when logging is disabled
	Source           bool   // Topic is a source topic of the application

	// Unstable says which rows differ between two runs of Kafka Streams
	// itself, or between a live directory and a restored one; empty for none.
	Unstable string
}

// OnDisk says whether the store has a directory.
func (s Store) OnDisk() bool { return s.Kind != "in-memory" && s.Kind != "suppress" }

// Stores are the profile's stores in an application of this id.
func (p Profile) Stores(app string) []Store {
	out := slices.Clone(p.stores)
	for i := range out {
		s := &out[i]
		s.Name = strings.ReplaceAll(s.Name, "<app>", app)
		switch s.Topic {
		case "":
			s.Topic = app + "-" + s.Name + "-changelog"
		case "-":
			s.Topic = ""
		default:
			s.Topic = strings.ReplaceAll(s.Topic, "<app>", app)
		}
	}
	return out
}

// App makes an application of the profile.
func (p Profile) App(id, bootstrap, stateDir string, eos bool) App {
	return App{ID: id, Profile: p.Topology, Bootstrap: bootstrap, StateDir: stateDir, EOS: eos, Settings: p.Settings}
}

// Supports says whether a version of Kafka Streams has what the profile needs.
func (p Profile) Supports(version string) bool {
	return p.MinVersion == "" || !older(version, p.MinVersion)
}

// Profiles returns all profiles; together they have every store kind.
func Profiles() []Profile {
	dsl := map[string]string{"dsl.store.format": "HEADERS"}
	return []Profile{
		{Name: "papi", Records: 1000, Topology: "papi", stores: storeKinds()},
		{Name: "papi-h", Records: 1000, Topology: "papi-h", MinVersion: "4.3", stores: headersStores()},
		{Name: "kv4", Records: 600, Topology: "kv4", stores: []Store{{Name: "tbl-store", Kind: "timestamped-kv", Partitions: 4}}},
		{Name: "agg", Records: 1000, Topology: "agg", stores: aggregations(false)},
		{Name: "win", Records: 500, Topology: "win", stores: windowAggregations(false)},
		{Name: "ssjoin", Records: 600, Topology: "ssjoin", stores: streamJoins(false)},
		{Name: "tjoin", Records: 1000, Topology: "tjoin", stores: tableJoins(false)},
		{Name: "opt", Records: 1000, Topology: "opt", stores: optimized()},
		{Name: "agg-headers", Records: 1000, Topology: "agg", Settings: dsl, MinVersion: "4.3", stores: aggregations(true)},
		{Name: "win-headers", Records: 500, Topology: "win", Settings: dsl, MinVersion: "4.3", stores: windowAggregations(true)},
		{Name: "ssjoin-headers", Records: 600, Topology: "ssjoin", Settings: dsl, MinVersion: "4.3", stores: streamJoins(true)},
		{Name: "tjoin-headers", Records: 1000, Topology: "tjoin", Settings: dsl, MinVersion: "4.3", stores: tableJoins(true)},
	}
}

// ProfileNamed returns the profile of that name; it panics when there is none.
func ProfileNamed(name string) Profile {
	for _, p := range Profiles() {
		if p.Name == name {
			return p
		}
	}
	panic("worldtest: no profile " + name)
}

const (
	versionedUnstable = "rows of old, expired segments depend on where restore batches end"
	duplicateUnstable = "null puts advance the sequence number of a live store, not of a restored one"
	bufferUnstable    = "Kafka Streams restores keys and values wrongly"
)

func versioned(name string, history time.Duration, interval time.Duration) Store {
	return Store{Name: name, Kind: "versioned", HistoryRetention: history, SegmentInterval: interval,
		Partitions: 2, Unstable: versionedUnstable}
}

func segmented(name, kind string, retention time.Duration) Store {
	return Store{Name: name, Kind: kind, Retention: retention, SegmentInterval: retention / 2, Partitions: 2}
}

func plain(name, kind string, subtopology int) Store {
	return Store{Name: name, Kind: kind, Subtopology: subtopology, Partitions: 2}
}

func storeKinds() []Store {
	const retention = 20 * time.Minute
	unlogged := plain("nolog-kv", "kv", 0)
	unlogged.Topic = "-"
	duplicates := segmented("dup-win", "window", retention)
	duplicates.Unstable = duplicateUnstable
	return []Store{
		plain("plain-kv", "kv", 0),
		plain("mem-kv", "in-memory", 0),
		plain("lru-kv", "in-memory", 0),
		unlogged,
		plain("ts-kv", "timestamped-kv", 0),
		versioned("versioned", 30*time.Minute, 150*time.Second),
		segmented("plain-win", "window", retention),
		duplicates,
		segmented("ts-win", "timestamped-window", retention),
		segmented("session", "session", retention),
	}
}

func headersStores() []Store {
	stores := []Store{
		plain("h-kv", "timestamped-kv", 0),
		plain("h-mem", "in-memory", 0),
		segmented("h-win", "timestamped-window", 20*time.Minute),
		segmented("h-session", "session", 20*time.Minute),
	}
	for i := range stores {
		stores[i].Headers = true
	}
	return stores
}

func aggregations(headers bool) []Store {
	stores := []Store{
		plain("cnt", "timestamped-kv", 0),
		plain("mem-cnt", "in-memory", 0),
		plain("adapter-cnt", "kv", 0),
		plain("cog", "timestamped-kv", 0),
		plain("totable", "timestamped-kv", 0),
		plain("KSTREAM-REDUCE-STATE-STORE-0000000005", "timestamped-kv", 1),
		plain("KSTREAM-AGGREGATE-STATE-STORE-0000000011", "timestamped-kv", 2),
		versioned("vtbl", 30*time.Minute, 150*time.Second),
		plain("flt", "timestamped-kv", 3),
		plain("tcnt", "timestamped-kv", 4),
	}
	stores[7].Subtopology = 3
	return withHeaders(stores, headers)
}

func windowAggregations(headers bool) []Store {
	const tumbling, sliding, sessions = 6 * time.Minute, 7 * time.Minute, 390 * time.Second
	emit := segmented("win-emit", "time-ordered-window", tumbling)
	emit.Index = headers // without headers, only sliding windows look back
	slideEmit := segmented("slide-emit", "time-ordered-window", sliding)
	slideEmit.Index = true
	sessionEmit := segmented("sess-emit", "time-ordered-session", sessions)
	sessionEmit.Index = true
	return withHeaders([]Store{
		segmented("win-cnt", "timestamped-window", tumbling),
		plain("sup-store", "suppress", 0),
		emit,
		segmented("slide", "timestamped-window", sliding),
		slideEmit,
		segmented("sess", "session", sessions),
		sessionEmit,
		segmented("adapter-win", "window", tumbling),
		plain("mem-win", "in-memory", 0),
	}, headers)
}

func streamJoins(headers bool) []Store {
	const retention = 34 * time.Minute
	var stores []Store
	for _, name := range []string{
		"KSTREAM-JOINTHIS-0000000004-store", "KSTREAM-JOINOTHER-0000000005-store",
		"lj-this-join-store", "lj-outer-other-join-store",
		"oj-outer-this-join-store", "oj-outer-other-join-store",
		"KSTREAM-OUTERTHIS-0000000022-store", "KSTREAM-OUTEROTHER-0000000023-store",
	} {
		stores = append(stores, segmented(name, "window", retention))
	}
	for _, name := range []string{
		"lj-left-shared-join-store", "oj-outer-shared-join-store", "KSTREAM-OUTERSHARED-0000000022-store",
	} {
		stores = append(stores, plain(name, "list", 0))
	}
	return withHeaders(stores, headers)
}

func tableJoins(headers bool) []Store {
	buffer := plain("gj-Buffer", "grace-buffer", 1)
	buffer.Unstable = bufferUnstable
	table := versioned("vt", time.Hour, 5*time.Minute)
	table.Subtopology = 1
	return withHeaders([]Store{
		plain("t1", "timestamped-kv", 0),
		plain("<app>-t2-STATE-STORE-0000000002", "timestamped-kv", 0),
		plain("t1t2", "timestamped-kv", 0),
		plain("fk-out", "timestamped-kv", 0),
		plain("fkj-subscription-store", "fk-subscription", 0),
		plain("KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000025", "fk-subscription", 0),
		buffer,
		table,
		{Name: "gtbl", Kind: "timestamped-kv", Subtopology: 2, Partitions: 3, Global: true, Topic: "<app>-g", Source: true},
	}, headers)
}

func optimized() []Store {
	return []Store{
		{Name: "src-tbl", Kind: "timestamped-kv", Partitions: 3, Topic: "<app>-t1", Source: true},
		{Name: "<app>-t2-STATE-STORE-0000000002", Kind: "timestamped-kv", Partitions: 3, Topic: "<app>-t2", Source: true},
		{Name: "j", Kind: "timestamped-kv", Partitions: 3},
		plain("c1", "timestamped-kv", 2),
		plain("KSTREAM-AGGREGATE-STATE-STORE-0000000014", "timestamped-kv", 2),
		{Name: "user-global", Kind: "kv", Subtopology: 3, Partitions: 2, Global: true, Processor: true,
			Topic: "<app>-g", Source: true},
	}
}

// withHeaders marks the stores whose format dsl.store.format=HEADERS changes.
// Stores that the user supplies, versioned stores, lists and buffers keep theirs.
func withHeaders(stores []Store, headers bool) []Store {
	supplied := []string{"adapter-cnt", "adapter-win", "mem-cnt", "mem-win"}
	unchanged := []string{"versioned", "list", "grace-buffer", "suppress"}
	for i, s := range stores {
		stores[i].Headers = headers && !slices.Contains(supplied, s.Name) && !slices.Contains(unchanged, s.Kind)
	}
	return stores
}

// older compares versions "4.0.2" and "4.3" number by number.
func older(a, b string) bool { return slices.Compare(numbers(a), numbers(b)) < 0 }

func numbers(version string) []int {
	var out []int
	for part := range strings.SplitSeq(version, ".") {
		n := 0
		for _, c := range part {
			n = n*10 + int(c-'0')
		}
		out = append(out, n)
	}
	return out
}
