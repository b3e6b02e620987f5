package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/human"
	"sstool/internal/op"
)

func tries(err error) []string { return op.Tries(err) }

func slicesHas(list []string, s string) bool { return slices.Contains(list, s) }

// plural is a count and its word: 1 file, 2 files, 3 families.
func plural(n int, word string) string {
	if n != 1 {
		switch {
		case strings.HasSuffix(word, "y"):
			word = strings.TrimSuffix(word, "y") + "ie"
			fallthrough
		default:
			word += "s"
		}
	}
	return human.Count(int64(n)) + " " + word
}

func plainNumber(n int) string { return strconv.Itoa(n) + "." }

// shortened makes a name fit, keeping what tells it from others.
func shortened(s string, room int, t *theme) string {
	if room < 4 {
		return padRight(s, max(0, room), "")
	}
	out := human.Shorten(s, room)
	if t.ascii {
		out = strings.ReplaceAll(out, "…", "~")
	}
	if width(out) > room { // wide characters
		return padRight(s, room, t.glyphs.ellipsis)
	}
	return out
}

// ago is how long before now something was, in the unit that counts.
func ago(now time.Time, t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	const day = 24 * time.Hour
	d := now.Sub(*t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 2*365*day:
		return fmt.Sprintf("%dd", d/day)
	}
	return fmt.Sprintf("%dy", d/(365*day))
}

// field is a line "name:  value" of a description.
func field(name, value string) line {
	if value == "" {
		value = "-"
	}
	name = safe(name) + ":"
	return line{{text: padRight(name, max(18, width(name)), "") + "  ", tone: dim}, {text: safe(value)}}
}

func fieldIn(name string, k tone, value string) line {
	l := field(name, value)
	l[1].tone = k
	return l
}

// columns lays out a small table within a text: the first row is its head, and
// all columns but the last are as wide as they need.
func columns(rows [][]line) []line {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for j, c := range r {
			widths[j] = max(widths[j], c.width())
		}
	}
	var out []line
	for i, r := range rows {
		l := line{{text: " "}}
		for j, c := range r {
			if j < len(r)-1 {
				l = append(l, span{text: strings.Repeat(" ", widths[j]-c.width())})
			}
			if i == 0 {
				c = toned(header, c.bare())
			}
			l = append(append(l, c...), span{text: "  "})
		}
		out = append(out, l)
	}
	return out
}

func title(s string) line { return toned(header, s) }

// copyText puts text into the terminal's clipboard (OSC 52).
func (m *Model) copyText(what, s string) tea.Cmd {
	m.say(good, what+" copied")
	return tea.SetClipboard(s)
}

func (m *Model) copyJSON(v any) tea.Cmd {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		m.fail(err)
		return nil
	}
	return m.copyText("JSON", string(b)+"\n")
}
