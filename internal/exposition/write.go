package exposition

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ContentType is what a page that Write made is served as.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Family is a metric of a page: its samples have its name and differ in labels.
type Family struct {
	Name, Help, Type string // Type: gauge, counter
	Samples          []Sample
}

// Write writes families in the text format. Times of samples are left out: a
// page says how things are now.
func Write(w io.Writer, families ...Family) error {
	var b strings.Builder
	for _, f := range families {
		if len(f.Samples) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.Name, escape(f.Help, false), f.Name, f.Type)
		for _, s := range f.Samples {
			b.WriteString(f.Name)
			for i, l := range s.Labels {
				b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
				fmt.Fprintf(&b, `%s="%s"`, l.Name, escape(l.Value, true))
			}
			if len(s.Labels) > 0 {
				b.WriteByte('}')
			}
			b.WriteByte(' ')
			b.WriteString(strconv.FormatFloat(s.Value, 'g', -1, 64))
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escape is how a help text, and a label's value, hold any text.
func escape(s string, quoted bool) string {
	s = strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), `\`, `\\`), "\n", `\n`)
	if quoted {
		s = strings.ReplaceAll(s, `"`, `\"`)
	}
	return s
}
