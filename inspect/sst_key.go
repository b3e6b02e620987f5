package inspect

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	if isOffsets(family) || p.StoreKind == "" {
		return rawText(key)
	}
	k := streams.Kind(p.StoreKind)
	r, err := streams.SplitRowKey(k, key)
	if err != nil {
		return rawText(key) + " (not a " + p.StoreKind + " key)"
	}
	text := rawText(r.Key)
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
func timeText(ms int64) string {
	const last = 253402300799999 // of the year 9999
	if ms < 0 || ms > last {
		return strconv.FormatInt(ms, 10)
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
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
	if isOffsets(family) || p.StoreKind == "" {
		return rawText(value)
	}
	v, err := streams.SplitRowValue(streams.Kind(p.StoreKind), family, value)
	if err != nil {
		return rawText(value)
	}
	text := rawText(v.Value)
	if v.HasTime {
		text += " @ " + timeText(v.Time)
	}
	return text
}
