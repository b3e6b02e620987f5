package topology

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// document is one text inside JSON, the line of the file it stands in, and the
// application id that stands beside it.
type document struct {
	line        int
	text, appID string
}

// maxDepth is deeper than any document that holds a topology.
const maxDepth = 100

// unwrapJSON finds the topologies in JSON that begins in the given line, value
// by value: Spring's actuator prints an array of texts, ksqlDB's EXPLAIN an
// object with one. Not JSON, or no topology in it: nil.
func unwrapJSON(text string, line int) [][]document {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	if trimmed == "" || strings.IndexByte(`[{"`, trimmed[0]) < 0 || !strings.Contains(text, "Sub-topology") {
		return nil
	}
	u := unwrapper{dec: json.NewDecoder(strings.NewReader(text)), text: text, line: line}
	var out [][]document
	for {
		_, docs, err := u.value(0)
		switch {
		case err == io.EOF:
			return out
		case err != nil:
			return nil
		case len(docs) > 0:
			out = append(out, docs)
		}
	}
}

// jsonLine is unwrapJSON of one line, as a structured log has it.
func jsonLine(number int, s string) []document {
	if !strings.Contains(s, "Sub-topology") || !strings.Contains(s, `\n`) {
		return nil
	}
	return slices.Concat(unwrapJSON(s, number)...)
}

// unwrapper walks JSON and counts lines on the way.
type unwrapper struct {
	dec  *json.Decoder
	text string
	at   int // everything before is counted
	line int // of at
}

// value reads the next value: its first token, and the topologies in it.
func (u *unwrapper) value(depth int) (json.Token, []document, error) {
	token, err := u.dec.Token()
	if err != nil {
		return nil, nil, err
	}
	var docs []document
	switch v := token.(type) {
	case string:
		if strings.Contains(v, "Sub-topology:") {
			docs = []document{{line: u.here(), text: v}}
		}
	case json.Delim:
		if depth == maxDepth {
			return nil, nil, errors.New("nested too deeply")
		}
		if v == '[' {
			docs, err = u.array(depth)
		} else {
			docs, err = u.object(depth)
		}
		if err == nil {
			_, err = u.dec.Token() // the closing bracket
		}
	}
	return token, docs, err
}

func (u *unwrapper) array(depth int) ([]document, error) {
	var out []document
	for u.dec.More() {
		_, docs, err := u.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, docs...)
	}
	return out, nil
}

// object reads an object: its "id" is the application id of the texts that
// stand beside it.
func (u *unwrapper) object(depth int) ([]document, error) {
	var id string
	var beside, deeper []document
	for u.dec.More() {
		key, err := u.dec.Token()
		if err != nil {
			return nil, err
		}
		v, docs, err := u.value(depth + 1)
		if err != nil {
			return nil, err
		}
		s, isText := v.(string)
		if isText && key == "id" {
			id = s
		}
		if isText {
			beside = append(beside, docs...)
		} else {
			deeper = append(deeper, docs...)
		}
	}
	for i := range beside {
		beside[i].appID = id
	}
	return append(beside, deeper...), nil
}

// here is the line of the last token.
func (u *unwrapper) here() int {
	end := int(u.dec.InputOffset())
	u.line += strings.Count(u.text[u.at:end], "\n")
	u.at = end
	return u.line
}

var (
	ansi        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]") })
	stringPiece = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^"]*"((?:[^"\\]|\\.)*)"\s*[+;,)\s]*$`) })
	escapes     = strings.NewReplacer(`\n`, "\n", `\r`, "", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\'`, `'`)
	typography  = strings.NewReplacer("\u00a0", " ", "–>", "-->", "—>", "-->", "<–", "<--", "<—", "<--", "\ufeff", "")
)

// unwrapLine takes off string quotes, terminal colours and what editors do to
// arrows. Other prefixes stay: recognise looks past them. A string piece may
// hold several lines.
func unwrapLine(s string, yield func(string)) {
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = ansi().ReplaceAllString(s, "")
	}
	if strings.Contains(s, "--&gt;") || strings.Contains(s, "&lt;--") {
		s = html.UnescapeString(s)
	}
	if !ascii(s) {
		s = typography.Replace(s)
	}
	if strings.IndexByte(s, '"') >= 0 {
		if m := stringPiece().FindStringSubmatch(s); m != nil && (hints(m[1]) || m[1] == `\n`) {
			for _, part := range strings.Split(strings.TrimSuffix(escapes.Replace(m[1]), "\n"), "\n") {
				yield(part)
			}
			return
		}
	}
	yield(s)
}

// utf16Order is the byte order that a byte order mark tells, or nil: a shell of
// Windows writes what a program prints as UTF-16.
func utf16Order(mark []byte) binary.ByteOrder {
	switch string(mark) {
	case "\xff\xfe":
		return binary.LittleEndian
	case "\xfe\xff":
		return binary.BigEndian
	}
	return nil
}

func fromUTF16(b []byte, order binary.ByteOrder) string {
	out := make([]byte, 0, len(b))
	for len(b) >= 2 {
		r := rune(order.Uint16(b))
		b = b[2:]
		if utf16.IsSurrogate(r) && len(b) >= 2 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(b))); pair != utf8.RuneError {
				r, b = pair, b[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// wrapped says whether unwrapLine or jsonLine may do something in a text.
func wrapped(text string) bool {
	return !ascii(text) || strings.IndexByte(text, '"') >= 0 || strings.IndexByte(text, 0x1b) >= 0 || strings.IndexByte(text, '&') >= 0
}

func ascii(s string) bool {
	for ; len(s) >= 8; s = s[8:] { // one load: texts are long
		if low, high := uint32(s[0])|uint32(s[1])<<8|uint32(s[2])<<16|uint32(s[3])<<24, uint32(s[4])|uint32(s[5])<<8|uint32(s[6])<<16|uint32(s[7])<<24; (low|high)&0x80808080 != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// hints says whether a text has words of a topology.
func hints(s string) bool {
	for _, w := range [...]string{"Sub-topolog", "Topology:", "Topologies:", "Source:", "Processor:", "Sink:", "-->", "<--"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
