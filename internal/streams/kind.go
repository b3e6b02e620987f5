package streams

import (
	"strings"

	"sstool/internal/op"
)

// Kind is a kind of store, named as users name it.
type Kind string

// The kinds with a directory on disk.
const (
	KV                 Kind = "kv"
	TimestampedKV      Kind = "timestamped-kv"
	Window             Kind = "window"
	TimestampedWindow  Kind = "timestamped-window"
	Session            Kind = "session"
	Versioned          Kind = "versioned"
	List               Kind = "list"                 // shared store of an outer or left stream-stream join
	TimeOrderedWindow  Kind = "time-ordered-window"  // windows with EmitStrategy.onWindowClose
	TimeOrderedSession Kind = "time-ordered-session" // sessions with EmitStrategy.onWindowClose
	GraceBuffer        Kind = "grace-buffer"         // stream-table join with a grace period
	FKSubscription     Kind = "fk-subscription"      // foreign-key join
)

// The kinds that have a changelog but nothing on disk.
const (
	InMemory Kind = "in-memory"
	Suppress Kind = "suppress"
)

// Kinds are all kinds, those on disk first.
func Kinds() []Kind {
	return []Kind{KV, TimestampedKV, Window, TimestampedWindow, Session, Versioned, List,
		TimeOrderedWindow, TimeOrderedSession, GraceBuffer, FKSubscription, InMemory, Suppress}
}

// ParseKind reads a kind as written by String.
func ParseKind(s string) (Kind, error) {
	for _, k := range Kinds() {
		if string(k) == s {
			return k, nil
		}
	}
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return "", op.Errorf(op.Usage, "unknown store kind %q", s).WithTry("use one of %s", strings.Join(names, ", "))
}

// WithArticle puts a or an before the name of a kind, or another word of that
// sort.
func WithArticle(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// String is the kind's name.
func (k Kind) String() string { return string(k) }

// Segmented reports whether a store of this kind is a directory of databases,
// one per time segment (SI/AbstractSegments). A versioned store has segments
// too, but as key prefixes of one database.
func (k Kind) Segmented() bool {
	switch k {
	case Window, TimestampedWindow, Session, TimeOrderedWindow, TimeOrderedSession, GraceBuffer:
		return true
	}
	return false
}

// Windowed reports whether rows of this kind expire with stream time and
// Kafka Streams therefore lets an application set a retention. The grace
// buffer is segmented but keeps everything.
func (k Kind) Windowed() bool { return k.Segmented() && k != GraceBuffer }

// OnDisk reports whether the kind has a directory at all.
func (k Kind) OnDisk() bool { return k != InMemory && k != Suppress && k != "" }

// Since is the first Kafka release with stores of this kind.
func (k Kind) Since() Version {
	switch k {
	case Versioned:
		return Version{3, 5, 0} // KIP-889
	case List:
		return Version{3, 1, 0} // 3.0 keeps a time-ordered window store instead
	case TimeOrderedWindow, TimeOrderedSession:
		return Version{3, 3, 0} // KIP-825
	case GraceBuffer:
		return Version{3, 6, 0} // KIP-923
	}
	return Version{}
}

// HasHeaders reports whether stores of this kind exist in a form that keeps
// record headers (KIP-1271, KIP-1285). The others stay as they are under
// dsl.store.format=HEADERS.
func (k Kind) HasHeaders() bool {
	switch k {
	case TimestampedKV, FKSubscription, Window, TimestampedWindow, Session, TimeOrderedWindow, TimeOrderedSession:
		return true
	}
	return false
}
