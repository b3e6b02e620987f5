// Package exposition reads the text in which programs show their metrics to
// Prometheus: the text format (0.0.4) and OpenMetrics (1.0), which differ in
// what follows a value. It hands over one sample at a time, so that memory does
// not grow with the text, and says the line of what it cannot read.
//
// It is no wrapper of prometheus/common/expfmt: that reads no OpenMetrics, keeps
// every family of the text in memory, and brings protobuf along.
package exposition

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Label is a label of a sample.
type Label struct{ Name, Value string }

// Sample is one value of one series.
type Sample struct {
	Name   string
	Labels []Label
	Value  float64
	Time   time.Time // zero when the text gives none
}

// Label is the value of a label, "" when there is none.
func (s *Sample) Label(name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// maxLine is the longest line: a sample is a few hundred bytes.
const maxLine = 1 << 20

// SyntaxError says where a text is no exposition.
type SyntaxError struct {
	Line     int
	Expected string
	Found    string // the beginning of what is there instead; "" at the line's end
}

func (e *SyntaxError) Error() string {
	found := "the end of the line"
	if e.Found != "" {
		found = strconv.Quote(e.Found)
	}
	return fmt.Sprintf("line %d: expected %s, found %s", e.Line, e.Expected, found)
}

// Read hands every sample to yield, in order. The sample and its labels are
// only valid until yield returns; their strings stay. An error of yield ends
// the reading and is returned.
func Read(r io.Reader, yield func(*Sample) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	var s Sample
	ended := false
	n := 0
	for lines.Scan() && lines.Err() == nil { // with an error comes the beginning of a line
		n++
		line := strings.TrimLeft(strings.TrimSuffix(lines.Text(), "\r"), " \t")
		if ended && line != "" {
			return &SyntaxError{n, "nothing after # EOF", beginning(line)}
		}
		if line == "" || line[0] == '#' {
			ended = line == "# EOF"
			continue
		}
		p := parser{rest: line}
		if !p.sample(&s) {
			return &SyntaxError{n, p.expected, beginning(p.rest)}
		}
		if err := yield(&s); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &SyntaxError{n + 1, fmt.Sprintf("a line of at most %d bytes", maxLine), "more"}
	} else if err != nil {
		return err
	}
	return nil
}

// beginning is enough of a line to recognise it.
func beginning(s string) string {
	const room = 40
	if len(s) > room {
		return s[:room] + "…"
	}
	return s
}

// parser eats a line from the left. A step that fails says what it expected,
// and leaves the rest where it was.
type parser struct {
	rest     string
	expected string
}

func (p *parser) fail(expected string) bool {
	p.expected = expected
	return false
}

func (p *parser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *parser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// sample is: name {label="value",…} value [time] [# exemplar]. A name that
// needs quotes stands inside the braces.
func (p *parser) sample(s *Sample) bool {
	s.Name, s.Labels, s.Time = p.name(true), s.Labels[:0], time.Time{}
	p.blanks()
	if p.take('{') {
		if !p.labels(s) {
			return false
		}
	}
	if s.Name == "" {
		return p.fail("the name of a metric")
	}
	p.blanks()
	word := p.word()
	v, err := strconv.ParseFloat(word, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(word, "xXpP_") {
		p.rest = word + p.rest
		return p.fail("a value")
	}
	s.Value = v
	p.blanks()
	if p.rest == "" || p.exemplar() {
		return true
	}
	word = p.word()
	t, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(t) || math.Abs(t) > 1e15 {
		p.rest = word + p.rest
		return p.fail("a time or the end of the line")
	}
	s.Time = timeOf(t)
	p.blanks()
	if p.rest == "" || p.exemplar() {
		return true
	}
	return p.fail("the end of the line")
}

// exemplar skips what OpenMetrics allows behind a value: # {…} value [time].
func (p *parser) exemplar() bool { return p.rest[0] == '#' }

// timeOf is a time in milliseconds (text) or in seconds (OpenMetrics). The two
// cannot be mixed up: a tenth of a trillion is 1973 in the one and the year 5138
// in the other.
func timeOf(t float64) time.Time {
	if math.Abs(t) < 1e11 {
		t *= 1000
	}
	return time.UnixMilli(int64(t))
}

func (p *parser) word() string {
	end := strings.IndexAny(p.rest, " \t")
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

// name takes a name of a metric, or of a label: these have no colon.
func (p *parser) name(metric bool) string {
	end := 0
	for end < len(p.rest) {
		c := p.rest[end]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || metric && c == ':'
		if !letter && (end == 0 || c < '0' || c > '9') {
			break
		}
		end++
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	return name
}

func (p *parser) labels(s *Sample) bool {
	for {
		p.blanks()
		if p.take('}') {
			return true
		}
		var name string
		quoted := strings.HasPrefix(p.rest, `"`)
		if quoted {
			if !p.quoted(&name) {
				return false
			}
		} else if name = p.name(false); name == "" {
			return p.fail("the name of a label or }")
		}
		p.blanks()
		if quoted && s.Name == "" && len(s.Labels) == 0 && !strings.HasPrefix(p.rest, "=") {
			s.Name = name
		} else {
			if !p.take('=') {
				return p.fail("= behind the name of a label")
			}
			p.blanks()
			s.Labels = append(s.Labels, Label{Name: name})
			if !p.quoted(&s.Labels[len(s.Labels)-1].Value) {
				return false
			}
			p.blanks()
		}
		if !p.take(',') && !strings.HasPrefix(p.rest, "}") {
			return p.fail(", or } behind a label")
		}
	}
}

// quoted takes a text in quotes, in which \\, \" and \n are escaped.
func (p *parser) quoted(into *string) bool {
	if !strings.HasPrefix(p.rest, `"`) {
		return p.fail("a text in quotes")
	}
	end, escaped := 1, false
	for ; end < len(p.rest) && p.rest[end] != '"'; end++ {
		if p.rest[end] == '\\' {
			escaped = true
			end++
		}
	}
	if end >= len(p.rest) {
		return p.fail("a text that ends with a quote")
	}
	*into = p.rest[1:end]
	if escaped {
		*into = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(*into)
	}
	p.rest = p.rest[end+1:]
	return true
}
