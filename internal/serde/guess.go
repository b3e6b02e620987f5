package serde

import (
	"encoding/binary"
	"encoding/json"
	"unicode"
	"unicode/utf8"
)

// Guesser looks at samples of a column and says which serde wrote them, when
// their bytes make it evident. It is a guess all the same: whoever shows it
// says so.
type Guesser struct {
	n                         int // samples that are not empty
	not                       [forms]bool
	roundDoubles, doublesSeen int
}

// The forms that can be evident, in the order of preference.
const (
	formUUID = iota
	formJSON
	formString
	formLong
	formInt
	formDouble
	forms
)

// Add takes a sample into account. Empty ones fit anything.
func (g *Guesser) Add(b []byte) {
	if len(b) == 0 {
		return
	}
	g.n++
	g.not[formUUID] = g.not[formUUID] || !isUUID(b)
	g.not[formString] = g.not[formString] || !isText(b)
	// Only objects and arrays: a bare number or word is text as well.
	g.not[formJSON] = g.not[formJSON] || b[0] != '{' && b[0] != '[' || !json.Valid(b)
	g.not[formInt] = g.not[formInt] || len(b) != 4 || b[0] != 0 && b[0] != 0xff
	if len(b) != 8 {
		g.not[formLong], g.not[formDouble] = true, true
		return
	}
	// Longs within 52 bits of 0, times among them, would be doubles next to 0
	// or NaN. Doubles from 1e-9 to 1e19 would be longs around 2^62.
	u := binary.BigEndian.Uint64(b)
	g.not[formLong] = g.not[formLong] || u>>52 != 0 && u>>52 != 0xfff
	exponent := u >> 52 & 0x7ff
	g.not[formDouble] = g.not[formDouble] || u != 0 && (exponent < 0x3e1 || exponent > 0x43e)
	g.doublesSeen++
	if u&0xffff == 0 {
		g.roundDoubles++
	}
}

// Serde is the serde that fits all samples, nil when none is evident.
func (g *Guesser) Serde() Serde {
	if g.n == 0 {
		return nil
	}
	for form, name := range [...]string{"uuid", "json", "string", "long", "int", "double"} {
		if g.not[form] {
			continue
		}
		// Few doubles with all digits could be any eight bytes.
		if form == formDouble && g.roundDoubles < g.doublesSeen && g.doublesSeen < 8 {
			return nil
		}
		return simple(name)
	}
	return nil
}

// isText says whether b is UTF-8 that a person could have written.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 || !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		b = b[n:]
	}
	return true
}
