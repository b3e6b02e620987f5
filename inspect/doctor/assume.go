package doctor

import (
	"slices"
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
	g := f.o.Guarantee
	if g == "" && f.config != nil {
		if g = f.config.get("processing.guarantee"); g == "" {
			g = "at_least_once" // StreamsConfig's default
		}
	}
	return strings.HasPrefix(strings.ToLower(g), "exactly_once"), g != ""
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
