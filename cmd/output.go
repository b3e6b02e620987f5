package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sstool/internal/op"
	"sstool/internal/serde"
)

// format is a value of -o.
type format string

const (
	formatTable format = "table"
	formatWide  format = "wide"
	formatJSON  format = "json"
	formatJSONL format = "jsonl"
	formatCSV   format = "csv"
	formatTSV   format = "tsv"
	formatYAML  format = "yaml"
)

// outputFlag is a command's -o: the value and the formats that suit the command.
type outputFlag struct {
	value   format
	allowed []format
}

// register adds -o with the formats that suit cmd; the first is the default.
func (f *outputFlag) register(cmd *cobra.Command, allowed ...format) {
	f.value, f.allowed = allowed[0], allowed
	cmd.Flags().VarP(f, "output", "o", "output `FORMAT`: "+strings.ReplaceAll(f.list(), "|", ", "))
	complete(cmd, "output", strings.Split(f.list(), "|"))
}

func (f *outputFlag) list() string {
	var names []string
	for _, a := range f.allowed {
		names = append(names, string(a))
	}
	return strings.Join(names, "|")
}

func (f *outputFlag) String() string  { return string(f.value) }
func (f *outputFlag) Type() string    { return "format" }
func (f *outputFlag) expects() string { return f.list() }

// other says whether s is a format, but of other commands.
func (f *outputFlag) other(s string) bool {
	formats := []format{formatTable, formatWide, formatJSON, formatJSONL, formatCSV, formatTSV, formatYAML, formatSARIF, formatGitHub, formatJUnit}
	return slices.Contains(formats, format(s)) && !slices.Contains(f.allowed, format(s))
}

// Set implements pflag.Value.
func (f *outputFlag) Set(s string) error {
	if !slices.Contains(f.allowed, format(s)) {
		return fmt.Errorf("%q is not one of %s", s, f.list())
	}
	f.value = format(s)
	return nil
}

// emit writes a result to stdout: as one JSON document {"kind":…,"version":1,…},
// or as the tables that render derives from the same struct.
func emit[D any](a *app, out outputFlag, kind string, doc D, render func(w *tableWriter, doc D)) error {
	if out.value == formatJSON {
		return a.emitJSON(kind, doc)
	}
	w := newTableWriter(a.io.Out, out.value)
	render(w, doc)
	return w.flush()
}

// emitJSON writes doc as one indented JSON document with the envelope in front.
func (a *app) emitJSON(kind string, doc any) error {
	b, err := envelope(kind, doc)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, b, "", "  "); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	buf.WriteByte('\n')
	if _, err := a.io.Out.Write(buf.Bytes()); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}

// envelope is doc as JSON with kind and version in front of its fields.
func envelope(kind string, doc any) ([]byte, error) {
	body, err := safeJSON(noNulls(doc))
	if err != nil {
		return nil, fmt.Errorf("encode %s as JSON: %w", kind, err)
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("encode %s as JSON: not an object", kind)
	}
	head := fmt.Sprintf(`{"kind":%q,"version":1`, kind)
	if !bytes.Equal(body, []byte("{}")) {
		head += ","
	}
	return append([]byte(head), body[1:]...), nil
}

// safeJSON is v as JSON on one line. What must not reach a terminal raw is
// escaped: encoding/json leaves DEL and much of Unicode as it is.
func safeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return serde.AppendSafe(nil, bytes.TrimSpace(buf.Bytes())), nil
}

// noNulls returns a copy of v in which empty slices and maps are not nil, so
// that they are [] and {} in JSON. Pointers stay as they are: a nil one is a
// value that could not be measured.
func noNulls(v any) any {
	in := reflect.ValueOf(v)
	if !in.IsValid() {
		return v
	}
	out := reflect.New(in.Type()).Elem()
	out.Set(in)
	fill(out)
	return out.Interface()
}

// fill replaces nil slices and maps below v, copying what it has to change.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || hasMarshaler(v.Type()) {
			return
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(v.Elem())
		fill(c.Elem())
		v.Set(c)
	case reflect.Struct:
		if hasMarshaler(v.Type()) {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			fill(c.Index(i))
		}
		v.Set(c)
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	}
}

func hasMarshaler(t reflect.Type) bool {
	m := reflect.TypeFor[json.Marshaler]()
	return t.Implements(m) || reflect.PointerTo(t).Implements(m)
}
