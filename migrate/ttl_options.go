package migrate

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/spec"
	"sstool/internal/streams"
)

// TTLOptions say which rows of which stores are to go.
type TTLOptions struct {
	Command       string // CommandTTL, CommandTombstone; "": ttl
	ApplicationID string
	Guarantee     string     // spec.AtLeastOnce, spec.ExactlyOnce; "": not known
	Store         TTLStore   // whose rows are judged
	Also          []TTLStore // of the same keys: a key that goes from Store goes from them too
	Companion     *TTLStore  // its values are the times the keys were last touched; may be in Also as well

	// When a row is too old: one of the two, or neither, so that its age does
	// not count.
	OlderThan  time.Duration
	StreamTime bool   // OlderThan counts back from the newest timestamp of the partition
	Before     *int64 // ms

	// Only rows of these are judged at all.
	Prefix  string                        // of the key, as its decoder reads it
	Keys    func() (io.ReadCloser, error) // lines, see eachKeyLine; nil: all
	KeysWhy string                        // where they come from
	// KeysGiven are the keys as they were given one by one, for Request.
	KeysGiven []string

	Where     *TTLQuery // over the row: {key, value, timestamp, …}; only true takes it
	Timestamp *TTLQuery // over the decoded value, the companion's if there is one, with $key: the row's time

	DeleteUnknown bool  // rows whose time makes no sense go too
	MaxRows       int64 // the oldest of those that qualify; 0: all

	Key, Value     serde.Serde // nil: as the rows look
	CompanionValue serde.Serde // nil: long, as Kafka Streams' own examples keep times

	Now          time.Time // zero: now
	Memory       int64     // 0: DefaultTTLMemory
	TempDir      string    // "": the system's
	StallTimeout time.Duration
	DryRun       bool          // what would be refused is told, and does not end it
	Wait         time.Duration // for members of the application's group to leave
}

// The commands that delete rows.
const (
	CommandTTL       = "ttl"
	CommandTombstone = "tombstone"
)

// DefaultTTLMemory is the budget of TTLOptions.Memory.
const DefaultTTLMemory = 256 << 20

// TTLStore is a store as its user and its files know it.
type TTLStore struct {
	Name    string
	Kind    streams.Kind // "": not known
	KindWhy string
	// Certain says that files, a specification or a generated name tell the
	// kind, not the user's word alone.
	Certain     bool
	Candidates  []streams.Kind
	Topic       string // "": the application's changelog of Name
	SourceTopic bool
	Global      bool
	Databases   []TTLDatabase // its local copies; none: the changelog is read
}

// TTLDatabase is the store in one task's directory.
type TTLDatabase struct {
	Partition int32
	TaskDir   string
	Dir       string
}

// TTLQuery is a jq expression and its text.
type TTLQuery struct {
	*serde.Query
	Text string
}

// topic is the store's changelog.
func (s *TTLStore) topic(appID string) string {
	if s.Topic != "" {
		return s.Topic
	}
	return streams.ChangelogTopic(appID, s.Name)
}

// Validate says what is missing or contradictory.
func (o *TTLOptions) Validate() error {
	switch {
	case o.ApplicationID == "":
		return op.Errorf(op.Usage, "which application?").WithTry("--application-id ID")
	case o.Store.Name == "":
		return op.Errorf(op.Usage, "which store?").WithTry("--store NAME; sstool inspect shows the stores of a state directory")
	case o.OlderThan > 0 && o.Before != nil:
		return op.Errorf(op.Usage, "--older-than and --before both say when a row is too old")
	case o.OlderThan%time.Millisecond != 0:
		return op.Errorf(op.Usage, "--older-than %s: Kafka Streams counts in milliseconds", o.OlderThan)
	case o.StreamTime && o.OlderThan == 0:
		return op.Errorf(op.Usage, "--stream-time says what --older-than counts from, which is not given")
	case o.OlderThan == 0 && o.Before == nil && o.Where == nil && o.Prefix == "" && o.Keys == nil:
		return op.Errorf(op.Usage, "nothing says which rows of %s are to go", o.Store.Name).
			WithTry("--older-than 24h, --before TIME, --where EXPRESSION, --prefix TEXT or --keys-from FILE")
	case o.OlderThan == 0 && o.Before == nil && (o.DeleteUnknown || o.Timestamp != nil || o.Companion != nil):
		return op.Errorf(op.Usage, "what says how old a row is needs a cutoff").WithTry("--older-than DURATION or --before TIME")
	case o.Guarantee != "" && o.Guarantee != spec.AtLeastOnce && o.Guarantee != spec.ExactlyOnce:
		return op.Errorf(op.Usage, "unknown processing guarantee %q", o.Guarantee).WithTry("at_least_once or exactly_once_v2")
	}
	seen := map[string]bool{o.Store.Name: true}
	for _, s := range o.Also {
		if seen[s.Name] {
			return op.Errorf(op.Usage, "--also names %s twice", s.Name)
		}
		seen[s.Name] = true
	}
	if o.Companion != nil && o.Companion.Name == o.Store.Name {
		return op.Errorf(op.Usage, "--timestamps-from is the store itself").WithTry("--timestamp-expr . for a store whose values are times")
	}
	return nil
}

// Request is what is asked for in one line: a run that is continued must be
// the same request.
func (o *TTLOptions) Request() string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	b.WriteString(cmp.Or(o.Command, CommandTTL))
	add("--application-id %s --store %s", o.ApplicationID, o.Store.Name)
	for _, s := range o.Also {
		add("--also %s", s.Name)
	}
	if o.Companion != nil {
		add("--timestamps-from %s", o.Companion.Name)
	}
	if o.OlderThan > 0 {
		add("--older-than %s", spec.FormatDuration(o.OlderThan))
	}
	if o.StreamTime {
		add("--stream-time")
	}
	if o.Before != nil {
		add("--before %s", serde.Time(*o.Before))
	}
	if o.Timestamp != nil {
		add("--timestamp-expr %q", o.Timestamp.Text)
	}
	if o.Where != nil {
		add("--where %q", o.Where.Text)
	}
	if o.Prefix != "" {
		add("--prefix %q", o.Prefix)
	}
	for _, k := range o.KeysGiven {
		add("--key %q", k)
	}
	if o.Keys != nil && len(o.KeysGiven) == 0 {
		add("--keys-from %q", o.KeysWhy)
	}
	if o.MaxRows > 0 {
		add("--max-rows %d", o.MaxRows)
	}
	if o.DeleteUnknown {
		add("--unknown-timestamps=delete")
	}
	return b.String()
}

// Stores are all stores that the options name.
func (o *TTLOptions) Stores() []*TTLStore {
	out := []*TTLStore{&o.Store}
	for i := range o.Also {
		out = append(out, &o.Also[i])
	}
	if o.Companion != nil {
		out = append(out, o.Companion)
	}
	return out
}
