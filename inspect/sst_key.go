package inspect

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sstool/internal/serde"
	"sstool/internal/streams"
)

// Key is a key as a person and as a program reads it.
type Key struct {
	Hex  string `json:"hex"`
	Text string `json:"text"` // decoded where the store's kind tells how, else escaped text or 0x…
}

// keyOf makes a Key; nil where there is none.
func keyOf(p *Place, family string, key []byte) *Key {
	if key == nil {
		return nil
	}
	return &Key{Hex: hex.EncodeToString(key), Text: keyText(p, family, key)}
}

// keyText decodes a key of a place's family.
func keyText(p *Place, family string, key []byte) string {
	if isOffsets(family) {
		return rawText(key)
	}
	if p.StoreKind == "" {
		return decoded(p.keys, key)
	}
	k := streams.Kind(p.StoreKind)
	r, err := streams.SplitRowKey(k, key)
	if err != nil {
		return rawText(key) + " (not a " + p.StoreKind + " key)"
	}
	text := decoded(p.keys, r.Key)
	switch k {
	case streams.Window, streams.TimestampedWindow, streams.TimeOrderedWindow:
		text += " @ " + timeText(r.Start)
		if r.Seq > 0 {
			text += fmt.Sprintf(" #%d", r.Seq)
		}
	case streams.Session, streams.TimeOrderedSession:
		text += " @ " + timeText(r.Start) + "/" + timeText(r.End)
	case streams.GraceBuffer:
		text += fmt.Sprintf(" @ %s #%d", timeText(r.Time), r.Seq)
	case streams.List:
		side := "right"
		if r.Left {
			side = "left"
		}
		text += " @ " + timeText(r.Time) + " " + side
	case streams.FKSubscription:
		text = rawText(r.ForeignKey) + " ← " + text
	case streams.Versioned:
		if r.Segment == streams.LatestSegment {
			text += " (latest)"
		} else {
			text += fmt.Sprintf(" (segment %d)", r.Segment)
		}
	}
	if r.Index {
		text += " (index)"
	}
	return text
}

// timeText is a time of a row's key, or the number when it is none.
func timeText(ms int64) string { return serde.Time(ms).String() }

// decoded shows what the application wrote, by the serde that was named; what
// it does not fit is shown raw.
func decoded(s serde.Serde, b []byte) string {
	if s != nil {
		if v, err := s.Decode(b); err == nil {
			return serde.Text(v)
		}
	}
	return rawText(b)
}

// rawText is text when the bytes are that, else 0x….
func rawText(b []byte) string {
	if len(b) == 0 {
		return `""`
	}
	if !utf8.Valid(b) || strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "0x" + hex.EncodeToString(b)
	}
	return string(b)
}

// valueText decodes a value of a place's family: timestamp and headers apart
// from what the application wrote.
func valueText(p *Place, family string, value []byte) string {
	if isOffsets(family) {
		return rawText(value)
	}
	if p.StoreKind == "" {
		return decoded(p.values, value)
	}
	v, err := streams.SplitRowValue(streams.Kind(p.StoreKind), family, value)
	if err != nil {
		return rawText(value)
	}
	text := decoded(p.values, v.Value)
	if v.HasTime {
		text += " @ " + timeText(v.Time)
	}
	return text
}
