package exposition

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// all reads a text, a line for each sample.
func all(text string) (string, error) {
	var out strings.Builder
	err := Read(strings.NewReader(text), func(s *Sample) error {
		out.WriteString(s.Name)
		for _, l := range s.Labels {
			fmt.Fprintf(&out, " %s=%q", l.Name, l.Value)
		}
		fmt.Fprintf(&out, " %v", s.Value)
		if !s.Time.IsZero() {
			out.WriteString(" @" + s.Time.UTC().Format(time.RFC3339Nano))
		}
		out.WriteByte('\n')
		return nil
	})
	return out.String(), err
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":              {"up 1\n", "up 1\n"},
		"labels":             {`up{job="a b", instance="h:1"} 0`, `up job="a b" instance="h:1" 0` + "\n"},
		"an older comma":     {`up{job="a",} 1`, `up job="a" 1` + "\n"},
		"no labels":          {"up{} 1", "up 1\n"},
		"blanks":             {"  up  { a = \"b\" , }\t1  1700000000000  ", `up a="b" 1 @2023-11-14T22:13:20Z` + "\n"},
		"comments":           {"# HELP up {it\"\n# TYPE up gauge\n\n#x\nup 2", "up 2\n"},
		"not a number":       {"a NaN\nb +Inf\nc -Inf\nd Inf", "a NaN\nb +Inf\nc -Inf\nd +Inf\n"},
		"exponents":          {"a 1.5E9\nb -2e-3", "a 1.5e+09\nb -0.002\n"},
		"beyond a float":     {"a 1e999", "a +Inf\n"},
		"milliseconds":       {"a 1 1700000000123", "a 1 @2023-11-14T22:13:20.123Z\n"},
		"seconds":            {"a 1 1700000000.5\n# EOF\n", "a 1 @2023-11-14T22:13:20.5Z\n"},
		"an exemplar":        {"a_total{x=\"y\"} 3 # {trace_id=\"#1\"} 1.0 1700000000.1\nb 1 1700000000 # {} 2", "a_total x=\"y\" 3\nb 1 @2023-11-14T22:13:20Z\n"},
		"escapes":            {`a{x="\\n \" \n {,}#="} 1`, `a x="\\n \" \n {,}#=" 1` + "\n"},
		"a quoted name":      {`{"org.apache.kafka.x", "client.id"="c"} 1`, `org.apache.kafka.x client.id="c" 1` + "\n"},
		"only a quoted name": {`{"a.b"} 1`, "a.b 1\n"},
		"a colon":            {"job:up:sum 1", "job:up:sum 1\n"},
		"line ends of DOS":   {"a 1\r\nb 2\r\n", "a 1\nb 2\n"},
		"UTF-8":              {`a{x="größe"} 1`, "a x=\"größe\" 1\n"},
		"nothing":            {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := all(c.text); err != nil || got != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"<!DOCTYPE html>", `line 1: expected the name of a metric, found "<!DOCTYPE html>"`},
		{"a 1\n{\"kind\":1}", `line 2: expected , or } behind a label, found ":1}"`},
		{"a", "line 1: expected a value, found the end of the line"},
		{"a one", `line 1: expected a value, found "one"`},
		{"a 0x10", `line 1: expected a value, found "0x10"`},
		{"a 1_0", `line 1: expected a value, found "1_0"`},
		{"a 1 2 3", `line 1: expected the end of the line, found "3"`},
		{"a 1 soon", `line 1: expected a time or the end of the line, found "soon"`},
		{"a 1 NaN", `line 1: expected a time or the end of the line, found "NaN"`},
		{"a{x} 1", `line 1: expected = behind the name of a label, found "} 1"`},
		{"a{x=y} 1", `line 1: expected a text in quotes, found "y} 1"`},
		{`a{x="y} 1`, `line 1: expected a text that ends with a quote, found "\"y} 1"`},
		{`a{x="y\"} 1`, `line 1: expected a text that ends with a quote, found "\"y\\\"} 1"`},
		{`a{x="y" z="w"} 1`, `line 1: expected , or } behind a label, found "z=\"w\"} 1"`},
		{`a{1="y"} 1`, `line 1: expected the name of a label or }, found "1=\"y\"} 1"`},
		{`{x="y"} 1`, `line 1: expected the name of a metric, found " 1"`},
		{"a 1\n# EOF\nb 1", `line 3: expected nothing after # EOF, found "b 1"`},
		{"a 1\n" + strings.Repeat("x", maxLine+1), `line 2: expected a line of at most 1048576 bytes, found "more"`},
	} {
		_, err := all(c.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != c.want {
			t.Errorf("%.60q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestReadStops(t *testing.T) {
	stop, seen := errors.New("enough"), 0
	err := Read(strings.NewReader("a 1\nb 2\n"), func(*Sample) error { seen++; return stop })
	if !errors.Is(err, stop) || seen != 1 {
		t.Errorf("%d samples, %v", seen, err)
	}
}

// TestReadCutOff: what comes before an error of the reader may be the beginning
// of a value.
func TestReadCutOff(t *testing.T) {
	cut, seen := errors.New("connection reset"), 0
	err := Read(io.MultiReader(strings.NewReader("a 1\nb 12"), iotest.ErrReader(cut)), func(*Sample) error { seen++; return nil })
	if !errors.Is(err, cut) || seen != 1 {
		t.Errorf("%d samples, %v", seen, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"up 1\n", `a{x="\\n",y=""} NaN 1700000000000`, `{"a.b","c"="d"} 1 1.5 # {x="y"} 2`, "# EOF\n", `a{x="`, "a{", "a 1 ", "\x00", `a{x="\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := Read(strings.NewReader(text), func(s *Sample) error {
			if s.Name == "" {
				t.Error("a sample without a name")
			}
			// What was read reads the same again once it is written.
			var line strings.Builder
			escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
			fmt.Fprintf(&line, `{"%s"`, escape.Replace(s.Name))
			for _, l := range s.Labels {
				fmt.Fprintf(&line, `,"%s"="%s"`, escape.Replace(l.Name), escape.Replace(l.Value))
			}
			fmt.Fprintf(&line, "} %v", s.Value)
			if strings.ContainsRune(line.String(), '\r') {
				return nil // a line's end of DOS
			}
			again := 0
			if err := Read(strings.NewReader(line.String()), func(r *Sample) error {
				again++
				same := r.Name == s.Name && len(r.Labels) == len(s.Labels) && (r.Value == s.Value || math.IsNaN(r.Value) && math.IsNaN(s.Value))
				for i := range r.Labels {
					same = same && r.Labels[i] == s.Labels[i]
				}
				if !same {
					t.Errorf("%+v, and from %q %+v", s, line.String(), r)
				}
				return nil
			}); err != nil || again != 1 {
				t.Errorf("%q: %d samples, %v", line.String(), again, err)
			}
			return nil
		})
		var syntax *SyntaxError
		if err != nil && !errors.As(err, &syntax) {
			t.Errorf("%v", err)
		}
	})
}
