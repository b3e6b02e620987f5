package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/internal/streams"
)

// The processing guarantees.
const (
	AtLeastOnce = "at_least_once"
	ExactlyOnce = "exactly_once_v2"
)

// Spec is what is known of an application's stores.
type Spec struct {
	ApplicationID string
	Guarantee     string // AtLeastOnce, ExactlyOnce, or "" when not known
	KafkaVersion  string // of the application that will open the result, or ""
	Stores        []Store

	From     map[Field]Source // where the values above come from
	Notes    []string         // what a reader should know; printed as comments
	Complete bool             // the source knows all stores of the application
	Excluded []Excluded       // stores that no restore can build

	tasks map[int]string // sub-topologies whose task directories were read: the directories
}

// Excluded is a store that is left out, with the reason.
type Excluded struct{ Name, Why string }

// Store is one store with what is known of it. Zero values are not known,
// unless From has their field.
type Store struct {
	streams.Store
	Subtopology *int    // nil when not known; unused for global stores
	Topic       string  // when it is not the application's changelog of Name
	SourceTopic bool    // Topic is the application's input (optimised KTable)
	GlobalCopy  bool    // the rows of this global store are the topic's
	Partitions  []int32 // only these; nil for all

	Candidates []streams.Kind   // what Kind may be, when it is not known
	From       map[Field]Source // where each value comes from; without a value: why there is none
	Notes      []string

	onDisk bool // a state directory has it
}

// Field names a value as the YAML does.
type Field string

// The fields of a specification and of its stores.
const (
	FieldApplicationID Field = "application-id"
	FieldGuarantee     Field = "processing-guarantee"
	FieldKafkaVersion  Field = "kafka-version"
	FieldStores        Field = "stores"

	FieldName             Field = "name"
	FieldKind             Field = "kind"
	FieldHeaders          Field = "headers"
	FieldSubtopology      Field = "subtopology"
	FieldGlobal           Field = "global"
	FieldTopic            Field = "topic"
	FieldSourceTopic      Field = "source-topic"
	FieldRetention        Field = "retention"
	FieldSegmentInterval  Field = "segment-interval"
	FieldHistoryRetention Field = "history-retention"
	FieldWithIndex        Field = "with-index"
	FieldPartitions       Field = "partitions"
)

// storeFields are a store's fields in the order they are printed.
var storeFields = [...]Field{FieldName, FieldKind, FieldHeaders, FieldSubtopology, FieldGlobal, FieldTopic, FieldSourceTopic,
	FieldRetention, FieldSegmentInterval, FieldHistoryRetention, FieldWithIndex, FieldPartitions}

// Source says where a value comes from. A value that is not certain was
// derived: a default formula or a usual name made it likely.
type Source struct {
	Text    string
	Certain bool
}

func certain(format string, args ...any) Source { return Source{fmt.Sprintf(format, args...), true} }
func derived(format string, args ...any) Source { return Source{fmt.Sprintf(format, args...), false} }

// set records where a field's value comes from.
func (s *Store) set(f Field, src Source) {
	if s.From == nil {
		s.From = map[Field]Source{}
	}
	s.From[f] = src
}

// set records where a field's value comes from.
func (s *Spec) set(f Field, src Source) {
	if s.From == nil {
		s.From = map[Field]Source{}
	}
	s.From[f] = src
}

// Store finds a store by name.
func (s *Spec) Store(name string) (*Store, bool) {
	for i := range s.Stores {
		if s.Stores[i].Name == name {
			return &s.Stores[i], true
		}
	}
	return nil, false
}

// Has says whether the field has a value.
func (s *Store) Has(f Field) bool {
	_, ok := s.text(f)
	return ok
}

// text is a field's value as the YAML has it.
func (s *Store) text(f Field) (string, bool) {
	switch f {
	case FieldName:
		return s.Name, s.Name != ""
	case FieldKind:
		return string(s.Kind), s.Kind != ""
	case FieldHeaders:
		return "true", s.Headers
	case FieldSubtopology:
		if s.Subtopology == nil {
			return "", false
		}
		return strconv.Itoa(*s.Subtopology), true
	case FieldGlobal:
		if s.GlobalCopy {
			return "copy", true
		}
		return "true", s.Global
	case FieldTopic:
		return s.Topic, s.Topic != ""
	case FieldSourceTopic:
		return "true", s.SourceTopic
	case FieldRetention:
		return FormatDuration(s.Retention), s.Retention != 0
	case FieldSegmentInterval:
		return FormatDuration(s.SegmentInterval), s.SegmentInterval != 0
	case FieldHistoryRetention:
		_, said := s.From[f]
		return FormatDuration(s.HistoryRetention), s.HistoryRetention != 0 || said && s.From[f].Certain
	case FieldWithIndex:
		return strconv.FormatBool(s.WithIndex), s.WithIndex || s.From[f].Certain
	case FieldPartitions:
		return formatPartitions(s.Partitions), s.Partitions != nil
	}
	return "", false
}

// copyField takes a field's value and source from another store.
func (s *Store) copyField(f Field, o *Store) {
	switch f {
	case FieldName:
		s.Name = o.Name
	case FieldKind:
		s.Kind = o.Kind
	case FieldHeaders:
		s.Headers = o.Headers
	case FieldSubtopology:
		s.Subtopology = o.Subtopology
	case FieldGlobal:
		s.Global, s.GlobalCopy = o.Global, o.GlobalCopy
	case FieldTopic:
		s.Topic = o.Topic
	case FieldSourceTopic:
		s.SourceTopic = o.SourceTopic
	case FieldRetention:
		s.Retention = o.Retention
	case FieldSegmentInterval:
		s.SegmentInterval = o.SegmentInterval
	case FieldHistoryRetention:
		s.HistoryRetention = o.HistoryRetention
	case FieldWithIndex:
		s.WithIndex = o.WithIndex
	case FieldPartitions:
		s.Partitions = o.Partitions
	}
	if src, ok := o.From[f]; ok {
		s.set(f, src)
	}
}

// needs says whether a store of this kind has the field at all.
func needs(k streams.Kind, f Field) bool {
	switch f {
	case FieldRetention:
		return k.Windowed()
	case FieldSegmentInterval:
		return k.Windowed() || k == streams.Versioned
	case FieldHistoryRetention:
		return k == streams.Versioned
	case FieldWithIndex:
		return k == streams.TimeOrderedWindow
	case FieldHeaders:
		return k.HasHeaders()
	}
	return true
}

// Missing are the fields a restore into a directory would still have to know.
func (s *Store) Missing() []Field {
	var out []Field
	want := func(f Field, when bool) {
		if when && !s.Has(f) {
			out = append(out, f)
		}
	}
	want(FieldKind, true)
	want(FieldSubtopology, !s.Global && (s.Kind == "" || s.Kind.OnDisk()))
	want(FieldTopic, s.Global)
	for _, f := range []Field{FieldRetention, FieldSegmentInterval, FieldHistoryRetention} {
		want(f, s.Kind != "" && needs(s.Kind, f))
	}
	want(FieldWithIndex, s.Kind == streams.TimeOrderedWindow && !s.Headers)
	return out
}

// Uncertain are the fields whose value was derived.
func (s *Store) Uncertain() []Field {
	var out []Field
	for _, f := range storeFields {
		if src, ok := s.From[f]; ok && !src.Certain && s.Has(f) {
			out = append(out, f)
		}
	}
	return out
}

// settle drops what does not fit the kind, and takes the only candidate there
// is as the kind.
func (s *Store) settle() {
	if s.Kind == "" && len(s.Candidates) == 1 {
		s.Kind = s.Candidates[0]
		src := s.From[FieldKind]
		s.set(FieldKind, derived("the only kind that fits: %s", src.Text))
	}
	if s.Kind == "" {
		return
	}
	s.Candidates = nil
	zero := &Store{}
	for _, f := range storeFields {
		if !needs(s.Kind, f) {
			delete(s.From, f)
			s.copyField(f, zero)
		}
	}
}

// sort orders stores as directories do: sub-topology, then name; global last.
func (s *Spec) sort() {
	slices.SortStableFunc(s.Stores, func(a, b Store) int {
		if a.Global != b.Global {
			if a.Global {
				return 1
			}
			return -1
		}
		if x, y := order(a.Subtopology), order(b.Subtopology); x != y {
			return x - y
		}
		return strings.Compare(a.Name, b.Name)
	})
}

func order(n *int) int {
	if n == nil {
		return 1 << 30
	}
	return *n
}

// exclude leaves a store out, once.
func (s *Spec) exclude(e Excluded) {
	if !slices.ContainsFunc(s.Excluded, func(o Excluded) bool { return o.Name == e.Name }) {
		s.Excluded = append(s.Excluded, e)
	}
}

// settle ends the making of a specification from a source.
func (s *Spec) settle() {
	for i := range s.Stores {
		s.Stores[i].settle()
	}
	s.sort()
}

// unit is a unit of durations, the largest first.
type unit struct {
	name string
	d    time.Duration
}

func units() []unit {
	return []unit{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}
}

// FormatDuration writes a duration with the largest unit that is exact: "20m",
// "36h", "7d".
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	for _, u := range units() {
		if d%u.d == 0 {
			return strconv.FormatInt(int64(d/u.d), 10) + u.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

// ParseDuration reads what FormatDuration writes, and sums like "1d12h" with
// the units from large to small. Kafka Streams counts in milliseconds, so
// nothing is smaller.
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration like 20m, 36h, 7d, 1d12h or 500ms", s)
	var sum time.Duration
	rest, from := s, 0
	for rest != "" {
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		v, err := strconv.ParseInt(rest[:n], 10, 64)
		if err != nil {
			return 0, bad
		}
		name := rest[n:]
		if i := strings.IndexAny(name, "0123456789"); i >= 0 {
			name = name[:i]
		}
		i := slices.IndexFunc(units()[from:], func(u unit) bool { return u.name == name })
		if i < 0 {
			return 0, bad
		}
		u := units()[from+i]
		from += i + 1
		if v > int64((1<<63-1-sum)/u.d) {
			return 0, fmt.Errorf("%q is longer than 292 years", s)
		}
		sum += time.Duration(v) * u.d
		rest = rest[n+len(name):]
	}
	if s == "" {
		return 0, bad
	}
	return sum, nil
}

// formatPartitions writes "0,2-5".
func formatPartitions(p []int32) string {
	var parts []string
	for i := 0; i < len(p); {
		j := i
		for j+1 < len(p) && p[j+1] == p[j]+1 {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, strconv.Itoa(int(p[i])))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", p[i], p[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
