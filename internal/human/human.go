// Package human writes figures as people read them, and makes text safe for a
// terminal: the command line and the dashboard show the same.
package human

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bytes is a size in binary units: 512 B, 1.5 KiB, 64 MiB.
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for (f >= 1023.95 || f <= -1023.95) && i < 4 {
		f /= 1024
		i++
	}
	s := strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
	return s + " " + []string{"KiB", "MiB", "GiB", "TiB", "PiB"}[i]
}

// Duration rounds to what a person reads: 812µs, 8.4ms, 1.24s, 2m05s, 3d04h.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	day := 24 * time.Hour
	switch {
	case d == 0:
		return "0s"
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", d)
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return TrimZero(d.Seconds()*1000, 1) + "ms"
	case d < time.Minute:
		return TrimZero(d.Seconds(), 2) + "s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < day:
		d = d.Round(time.Minute)
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	}
	d = d.Round(time.Hour)
	return twoUnits(d, day, "d", time.Hour, "h")
}

// TrimZero is a number without the zeros that say nothing.
func TrimZero(f float64, digits int) string {
	s := strconv.FormatFloat(f, 'f', digits, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	if rest := d % big; rest != 0 {
		return fmt.Sprintf("%d%s%02d%s", d/big, bigName, rest/small, smallName)
	}
	return fmt.Sprintf("%d%s", d/big, bigName)
}

// Count groups digits: 1,000,000.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Rate is a count per second, with three digits that matter.
func Rate(perSecond float64, unit string) string {
	switch {
	case perSecond >= 1e6:
		return fmt.Sprintf("%.2fM %s/s", perSecond/1e6, unit)
	case perSecond >= 1e4:
		return fmt.Sprintf("%.0fk %s/s", perSecond/1e3, unit)
	case perSecond >= 100:
		return fmt.Sprintf("%s %s/s", Count(int64(math.Round(perSecond))), unit)
	}
	return TrimZero(perSecond, 1) + " " + unit + "/s"
}

// Share is a part of a whole in per cent.
func Share(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	p := 100 * part / whole
	if p > 0 && p < 0.1 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", p)
}

// Printable escapes what must not reach a terminal raw: control characters,
// escape sequences, invalid UTF-8 and characters that reorder text. Newlines
// and tabs are escaped as well.
func Printable(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}
