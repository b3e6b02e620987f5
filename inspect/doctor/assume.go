package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"sstool/inspect"
	"sstool/internal/streams"
)

// kafka is the version of Kafka Streams that starts next, and how it was told
// when nobody stated it. Offsets and formats tell apart what behaves
// differently: up to 3.9, 4.0 to 4.2, and from 4.3 on.
func (f *facts) kafka() (v streams.Version, why string) {
	if !f.o.Kafka.IsZero() {
		return f.o.Kafka, ""
	}
	rows, four := false, false
	for _, a := range f.apps() {
		for i := range a.Stores {
			s := &a.Stores[i]
			if slices.ContainsFunc(s.Families, func(m inspect.MapFamily) bool { return m.Name == streams.OffsetsFamily }) {
				return streams.NewestTarget, "taken for it since stores have the offsets family; --kafka-version states it"
			}
			rows = rows || len(s.Families) > 0
			four = four || slices.Contains(s.Formats, 6) || slices.ContainsFunc(s.WrittenBy, func(l string) bool { return !before9(l) })
		}
	}
	switch {
	case four:
		return streams.Version{Major: 4, Minor: 2}, "taken for it since stores are in the form of Kafka Streams 4.0 to 4.2; --kafka-version states it"
	case rows:
		return streams.Version{Major: 3, Minor: 9}, "taken for it since stores are in the form of Kafka Streams 3.x; --kafka-version states it"
	}
	return streams.NewestTarget, "taken for it since there is no store to tell; --kafka-version states it"
}

// before9 says whether a RocksDB is older than that of Kafka Streams 4.0 (9.7).
func before9(library string) bool {
	major, _, _ := strings.Cut(library, ".")
	return len(major) == 1 && major < "9"
}

// exactlyOnce says whether the application runs under exactly-once; known is
// false when nothing tells.
func (f *facts) exactlyOnce() (eos, known bool) {
	g, _ := f.guarantee()
	return strings.HasPrefix(strings.ToLower(g), "exactly_once"), g != ""
}

// guarantee is the processing guarantee, and how it was told when nobody
// stated it: from how the application ran last.
func (f *facts) guarantee() (g, why string) {
	switch {
	case f.o.Guarantee != "":
		return f.o.Guarantee, ""
	case f.config != nil: // StreamsConfig's default when it is not set
		return cmp.Or(f.config.get("processing.guarantee"), "at_least_once"), ""
	case f.log != nil && f.log.Guarantee != "":
		return f.log.Guarantee, "taken for it since the log of the last start says so; --processing-guarantee states it"
	case f.cluster != nil:
		return f.wrote()
	}
	return "", ""
}

// wrote tells the guarantee from what the cluster knows of the application's
// producers: those of exactly-once have transactional ids of its name, and
// write changelogs in transactions. That they write without is only believed
// while the application runs: tools write to changelogs too.
func (f *facts) wrote() (g, why string) {
	c := f.cluster
	named := slices.ContainsFunc(c.transactional, func(id string) bool { return ownTransaction(f.app, id) })
	switch {
	case (named || c.transactions) && !c.without:
		return "exactly_once_v2", "taken for it since the application wrote in transactions last; --processing-guarantee states it"
	case c.without && !named && !c.transactions && c.members > 0:
		return "at_least_once", "taken for it since the application runs and writes without transactions; --processing-guarantee states it"
	}
	return "", ""
}

// ownTransaction says whether a transactional id is one that Kafka Streams
// makes for the application: id, process and thread, or before 4.0 id and task.
func ownTransaction(app, id string) bool {
	rest, ok := strings.CutPrefix(id, app+"-")
	if !ok || app == "" {
		return false
	}
	if _, err := streams.ParseTaskID(rest); err == nil {
		return true
	}
	i := strings.LastIndexByte(rest, '-')
	if i != len("00000000-0000-0000-0000-000000000000") || strings.Count(rest[:i], "-") != 4 {
		return false
	}
	_, err := strconv.Atoi(rest[i+1:])
	return err == nil
}

// rate is how many records of the store a restore takes in a second; 0: not
// known.
func (o *Options) rate(s *inspect.MapStore) float64 {
	if s != nil && s.Kind.Kind != nil {
		if r := o.Rates[streams.Kind(*s.Kind.Kind)]; r > 0 {
			return r
		}
	}
	return o.Rate
}

func (o *Options) timed() bool { return o.Rate > 0 || len(o.Rates) > 0 }
