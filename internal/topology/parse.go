package topology

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"strings"

	"sstool/internal/op"
)

// maxText is more than any topology: a text beyond it is the wrong file, or a
// log.
const maxText = 64 << 20

// Options say what a text is.
type Options struct {
	File          string // where it came from, for messages
	ApplicationID string // of its topologies, whatever the text itself tells
	All           bool   // every distinct topology, not only those printed last
	Log           bool   // it is a log: of any length, and lines around topologies are no problems
}

// Parse reads a text. A text without a topology, a cut one, or one with arrows
// to nodes it does not have, is an op.Usage error that says what is missing;
// what is merely odd is in the model's Problems.
//
// A text with several topologies gives those of the last describe(): a log has
// one per start. One cut off before the last is a problem; with All an error.
// A text cut exactly between two sub-topologies looks whole, unless a
// repartition topic misses its other end.
func Parse(r io.Reader, o Options) (*Model, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	mark, _ := in.Peek(2)
	order := utf16Order(mark)
	if o.Log && order == nil {
		return parseLog(in, o)
	}
	var text strings.Builder
	if f, ok := r.(fs.File); ok {
		if info, err := f.Stat(); err == nil {
			text.Grow(int(min(info.Size(), maxText)))
		}
	}
	if _, err := io.Copy(&text, io.LimitReader(in, maxText+1)); err != nil {
		return nil, op.Errorf(op.Failed, "read topology: %w", err)
	}
	if text.Len() > maxText {
		return nil, op.Errorf(op.Usage, "the text is longer than %d MiB: not a topology", maxText>>20).
			WithTry("--from-log reads a log of any length")
	}
	if order != nil {
		return ParseText(fromUTF16([]byte(text.String()), order), o)
	}
	return ParseText(text.String(), o)
}

// ParseText is Parse of a string.
func ParseText(text string, o Options) (*Model, error) {
	p := newParser(o)
	text = strings.TrimPrefix(text, "\ufeff")
	if values := unwrapJSON(text, 1); values != nil {
		for _, docs := range values {
			p.documents(docs)
		}
	} else {
		p.nodeRoom = make([]Node, 0, nodesIn(text))
		wrapped := wrapped(text)
		for number := 1; text != ""; number++ {
			var raw string
			raw, text, _ = strings.Cut(text, "\n")
			p.feed(number, raw, wrapped)
		}
	}
	return p.finish()
}

// parseLog reads line by line and keeps only topologies.
func parseLog(r io.Reader, o Options) (*Model, error) {
	p := newParser(o)
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxText)
	number := 1
	for ; in.Scan(); number++ {
		p.feed(number, in.Text(), true)
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, op.Errorf(op.Usage, "line %d is longer than %d MiB: not a log", number, maxText>>20)
	} else if err != nil {
		return nil, op.Errorf(op.Failed, "read topology: %w", err)
	}
	return p.finish()
}

// nodesIn guesses how many nodes a text has: a node has a parenthesis.
func nodesIn(text string) int { return min(strings.Count(text, "("), len(text)/64, 1<<16) }

// feed takes one line of the file, which may be wrapped in something.
func (p *parser) feed(number int, raw string, wrapped bool) {
	raw = strings.TrimRight(raw, "\r")
	if p.first == "" {
		p.first = strings.TrimSpace(raw)
	}
	if !wrapped {
		p.line(number, raw)
		return
	}
	if docs := jsonLine(number, raw); docs != nil {
		p.documents(docs)
		return
	}
	unwrapLine(raw, func(s string) { p.line(number, s) })
}

// documents takes texts that belong together: the applications of one JSON
// array.
func (p *parser) documents(docs []document) {
	p.endPrint()
	for i, d := range docs {
		p.appID, p.together = cmp.Or(p.o.ApplicationID, d.appID), i > 0
		if p.first == "" {
			p.first = strings.TrimSpace(d.text)
		}
		for text := d.text; text != ""; {
			var raw string
			raw, text, _ = strings.Cut(text, "\n")
			unwrapLine(strings.TrimRight(raw, "\r"), func(s string) { p.line(d.line, s) })
		}
		p.endTopology()
	}
	p.endPrint()
	p.appID, p.together = p.o.ApplicationID, false
}

const howToGet = "print topology.describe() of the application and give all of it, from \"Topologies:\" on"

// noTopology says what the text is instead.
func (p *parser) noTopology() error {
	var err *op.Error
	first := p.first
	first, _, _ = strings.Cut(first, "\n")
	if r := []rune(first); len(r) > 60 {
		first = string(r[:60]) + "…"
	}
	switch {
	case first == "":
		err = op.Errorf(op.Usage, "no topology: the text is empty")
	case p.hinted:
		err = op.Errorf(op.Usage, "no topology: no \"Sub-topology: N\" line in the text that begins %q", first)
	default:
		err = op.Errorf(op.Usage, "no topology in the text that begins %q", first)
	}
	err.What = p.o.File
	return err.WithTry(howToGet)
}
