package spec

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"sstool/internal/streams"
)

// PrintOptions say how a specification is written.
type PrintOptions struct {
	// AcceptDerived writes derived values as if they were stated. Without it
	// they are comments: a reader has to remove the # to vouch for them.
	AcceptDerived bool
	// Plain leaves out all comments.
	Plain bool
}

// commentColumn is where comments behind values start.
const commentColumn = 48

// Print writes the specification as YAML that Parse reads, with a comment on
// where each value comes from. What is not known is left out and named.
func Print(w io.Writer, s *Spec, o PrintOptions) error {
	p := &printer{o: o}
	p.value("", FieldApplicationID, s.ApplicationID, s.From)
	if s.Guarantee != "" {
		p.value("", FieldGuarantee, s.Guarantee, s.From)
	} else {
		p.missing("", FieldGuarantee, s.From, AtLeastOnce+" or "+ExactlyOnce)
	}
	if s.KafkaVersion != "" {
		p.value("", FieldKafkaVersion, s.KafkaVersion, s.From)
	} else {
		p.missing("", FieldKafkaVersion, s.From, "of the application that will open the stores, like \"4.4\"")
	}
	p.line(string(FieldStores)+":", "")
	for i := range s.Stores {
		p.store(&s.Stores[i])
	}
	for _, e := range s.Excluded {
		p.comment("", fmt.Sprintf("left out: %s: %s", e.Name, e.Why))
	}
	for _, n := range s.Notes {
		p.comment("", n)
	}
	_, err := w.Write(p.b.Bytes())
	return err
}

type printer struct {
	o PrintOptions
	b bytes.Buffer
}

// line writes text with a comment behind it.
func (p *printer) line(text, comment string) {
	if comment == "" || p.o.Plain {
		fmt.Fprintf(&p.b, "%s\n", text)
		return
	}
	fmt.Fprintf(&p.b, "%-*s # %s\n", commentColumn, text, oneLine(comment))
}

func (p *printer) comment(indent, text string) {
	if !p.o.Plain {
		fmt.Fprintf(&p.b, "%s# %s\n", indent, oneLine(text))
	}
}

// value writes "key: value", as a comment when it is derived.
func (p *printer) value(indent string, f Field, text string, from map[Field]Source) {
	src, ok := from[f]
	kv := string(f) + ": " + quote(f, text)
	if ok && !src.Certain && !p.o.AcceptDerived {
		if !p.o.Plain {
			p.line(indent+"# "+kv, "derived: "+src.Text)
		}
		return
	}
	why := src.Text
	if ok && !src.Certain {
		why = "derived: " + why
	}
	p.line(indent+kv, why)
}

// missing names a value that is left out.
func (p *printer) missing(indent string, f Field, from map[Field]Source, expected string) {
	why := from[f].Text
	if why != "" {
		why = " (" + why + ")"
	}
	p.comment(indent, fmt.Sprintf("%s: not known%s: %s", f, why, expected))
}

func (p *printer) store(s *Store) {
	const indent = "    "
	p.line("  - "+string(FieldName)+": "+quote(FieldName, s.Name), s.From[FieldName].Text)
	missing := map[Field]bool{}
	for _, f := range s.Missing() {
		missing[f] = true
	}
	for _, f := range storeFields[1:] {
		if text, ok := s.text(f); ok {
			p.value(indent, f, text, s.From)
		} else if missing[f] {
			p.missing(indent, f, s.From, s.expected(f))
		}
	}
	for _, n := range s.Notes {
		p.comment(indent, n)
	}
}

// expected says what a missing field may be.
func (s *Store) expected(f Field) string {
	switch f {
	case FieldKind:
		kinds := s.Candidates
		if len(kinds) == 0 {
			kinds = streams.Kinds()
		}
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = string(k)
		}
		return "one of " + strings.Join(names, ", ")
	case FieldSubtopology:
		return "the first number of its task directories"
	case FieldTopic:
		return "the topic that fills it"
	case FieldWithIndex:
		return "true for sliding windows, false for tumbling and hopping ones"
	case FieldHistoryRetention:
		return "as in the application, like 7d"
	}
	return "as in the application, like 20m"
}

// quote writes a scalar so that YAML reads it back as text where it is one.
func quote(f Field, s string) string {
	switch f {
	case FieldSubtopology, FieldGlobal, FieldHeaders, FieldWithIndex, FieldSourceTopic:
		return s
	}
	b, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimRight(string(b), "\n")
}

// oneLine keeps a comment in its line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }), " ")
}
