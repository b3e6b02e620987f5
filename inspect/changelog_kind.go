package inspect

import (
	"encoding/binary"
	"fmt"
	"strings"

	"sstool/internal/streams"
)

// looksAt is of how many keys of each worker the shape is looked at.
const looksAt = 2000

// keyLooks counts how many keys have the shape of a window's or a session's
// (kstreams: WindowKeySchema, SessionKeySchema).
type keyLooks struct{ seen, window, session int }

func (l *keyLooks) add(o *keyLooks) {
	l.seen += o.seen
	l.window += o.window
	l.session += o.session
}

// see looks at a key while few were seen.
func (l *keyLooks) see(key []byte) {
	if l.seen >= looksAt {
		return
	}
	l.seen++
	n := len(key)
	// key | window start (8) | sequence number (4)
	if n >= 12 && plausibleTime(binary.BigEndian.Uint64(key[n-12:])) && binary.BigEndian.Uint32(key[n-4:]) < 1<<24 {
		l.window++
	}
	// key | end (8) | start (8)
	if n >= 16 {
		end, start := binary.BigEndian.Uint64(key[n-16:]), binary.BigEndian.Uint64(key[n-8:])
		if plausibleTime(end) && plausibleTime(start) && start <= end {
			l.session++
		}
	}
}

// plausibleTime says whether ms is a time between 1990 and 2200.
func plausibleTime(ms uint64) bool { return ms > 631_152_000_000 && ms < 7_258_118_400_000 }

// shape is what the keys look like.
func (l *keyLooks) shape() string {
	switch {
	case l.seen == 0:
		return ""
	case l.session == l.seen:
		return "session"
	case l.window == l.seen:
		return "window"
	}
	return "plain"
}

// kind is the kind of store, as far as it can be told.
func (r *changelogRun) kind(config map[string]string, looks *keyLooks) ChangelogKind {
	k := ChangelogKind{Kind: r.o.Kind, KeysLook: looks.shape(), Certainty: "stated", Reason: "as given"}
	if k.Kind != "" {
		return k
	}
	k.Certainty = "likely"
	policy := config["cleanup.policy"]
	switch k.KeysLook {
	case "window":
		k.Kind, k.Reason = streams.TimestampedWindow, "the keys end in a window start and a sequence number"
		if !strings.Contains(policy, "compact") && policy != "" {
			k.Kind = streams.Window
			k.Reason += "; cleanup.policy=delete alone is that of the two stores of a stream-stream join"
		}
		return k
	case "session":
		k.Kind, k.Reason = streams.Session, "the keys end in a session's end and start"
		return k
	case "plain":
		if _, err := streams.DeriveHistoryRetention("", config); err == nil {
			k.Kind, k.Reason = streams.Versioned, "min.compaction.lag.ms="+config["min.compaction.lag.ms"]+", which Kafka Streams sets for versioned stores alone"
			return k
		}
		k.Kind, k.Reason = streams.TimestampedKV, "the keys have no window in them; another kind of key-value store looks alike"
		return k
	}
	k.Certainty, k.Reason = "unknown", fmt.Sprintf("there are no keys to look at (cleanup.policy=%s)", orNotTold(policy))
	return k
}

func orNotTold(s string) string {
	if s == "" {
		return "not told"
	}
	return s
}
