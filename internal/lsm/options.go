package lsm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Options is a database's newest OPTIONS file: what it is configured to write,
// which may differ from what its SST files hold.
type Options struct {
	File           string // full path
	RocksDBVersion string // of the library that wrote it
	DB             map[string]string
	Families       []FamilyOptions // "default" first
}

// FamilyOptions are one column family's options. CF and Table hold every
// option as text.
type FamilyOptions struct {
	Name            string
	Comparator      string
	MergeOperator   string // "" when there is none
	Compression     string // "kNoCompression"
	CompactionStyle string // "kCompactionStyleUniversal"
	FormatVersion   int    // 0 when the file does not say
	Checksum        string // "kCRC32c"
	CF, Table       map[string]string

	hasTable bool // its table options were there
}

// Family finds a column family's options by name.
func (o *Options) Family(name string) (*FamilyOptions, bool) {
	for i := range o.Families {
		if o.Families[i].Name == name {
			return &o.Families[i], true
		}
	}
	return nil, false
}

// ReadOptions reads the OPTIONS file with the highest number in dir.
func ReadOptions(dir string) (Options, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return Options{}, ioError("read OPTIONS", err)
	}
	newest, name := int64(-1), ""
	for _, e := range list {
		if n := prefixNumber(e.Name(), "OPTIONS-"); n > newest {
			newest, name = n, e.Name()
		}
	}
	if name == "" {
		return Options{}, ioError("read OPTIONS", &os.PathError{Op: "find", Path: filepath.Join(dir, "OPTIONS-*"), Err: os.ErrNotExist})
	}
	return readOptionsFile(filepath.Join(dir, name))
}

// maxOptions bounds an OPTIONS file: a column family takes some 5 KiB.
const maxOptions = 64 << 20

func readOptionsFile(path string) (Options, error) {
	b, err := readHead(path, maxOptions)
	if err != nil {
		return Options{}, ioError("read OPTIONS", err)
	}
	return parseOptions(path, b)
}

// parseOptions reads the INI form of options/options_parser.cc.
func parseOptions(path string, b []byte) (Options, error) {
	o := Options{File: path, DB: map[string]string{}}
	var into map[string]string
	version := map[string]string{}
	for n, off := 1, 0; off < len(b); n++ {
		line := b[off:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		bad := func(format string, args ...any) error {
			return corrupt(path, int64(off), "line %d: %w", n, fmt.Errorf(format, args...))
		}
		text := strings.TrimSpace(uncomment(string(line)))
		switch {
		case text == "":
		case text[0] == '[':
			if text[len(text)-1] != ']' {
				return o, bad("%q, expected a section to end with ]", text)
			}
			var err error
			if into, err = o.section(text[1:len(text)-1], version); err != nil {
				return o, bad("%w", err)
			}
		default:
			key, value, ok := strings.Cut(text, "=")
			if !ok || key == "" {
				return o, bad("%q, expected name=value", text)
			}
			if into == nil {
				return o, bad("an option before any section")
			}
			into[key] = unescape(value)
		}
		off += len(line) + 1
	}
	o.RocksDBVersion = version["rocksdb_version"]
	if o.RocksDBVersion == "" || len(o.Families) == 0 {
		return o, corrupt(path, int64(len(b)), "the file ends, expected [Version] and [CFOptions] sections before")
	}
	// Each family has its table options after it: a file without them was cut.
	if last := o.Families[len(o.Families)-1]; !last.hasTable || b[len(b)-1] != '\n' {
		return o, corrupt(path, int64(len(b)), "the file ends, expected the rest of column family %q's options", last.Name)
	}
	for i := range o.Families {
		if err := o.Families[i].fill(); err != nil {
			return o, corrupt(path, 0, "column family %q: %w", o.Families[i].Name, err)
		}
	}
	return o, nil
}

// section returns where the options of a section go; unknown sections of the
// kind "Name" or "Name \"arg\"" are read and dropped.
func (o *Options) section(title string, version map[string]string) (map[string]string, error) {
	name, arg, has := strings.Cut(title, " ")
	if has {
		arg = strings.TrimSpace(arg)
		if len(arg) < 2 || arg[0] != '"' || arg[len(arg)-1] != '"' {
			return nil, fmt.Errorf("section %q, expected its argument in quotes", title)
		}
		arg = unescape(arg[1 : len(arg)-1])
	}
	switch kind, _, _ := strings.Cut(name, "/"); kind {
	case "Version":
		return version, nil
	case "DBOptions":
		return o.DB, nil
	case "CFOptions":
		if _, dup := o.Family(arg); dup {
			return nil, fmt.Errorf("column family %q twice", arg)
		}
		f := FamilyOptions{Name: arg, CF: map[string]string{}, Table: map[string]string{}}
		o.Families = append(o.Families, f)
		return f.CF, nil
	case "TableOptions":
		f, ok := o.Family(arg)
		if !ok {
			return nil, fmt.Errorf("table options of column family %q, expected its CFOptions before", arg)
		}
		f.hasTable = true
		return f.Table, nil
	}
	return map[string]string{}, nil
}

func (f *FamilyOptions) fill() error {
	f.Comparator = f.CF["comparator"]
	if m := f.CF["merge_operator"]; m != "nullptr" {
		f.MergeOperator = m
	}
	f.Compression = f.CF["compression"]
	f.CompactionStyle = f.CF["compaction_style"]
	f.Checksum = f.Table["checksum"]
	if v := f.Table["format_version"]; v != "" {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return fmt.Errorf("format_version=%s, expected a number", v)
		}
		f.FormatVersion = int(n)
	}
	return nil
}

// uncomment drops what follows a # that no backslash protects.
func uncomment(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && (i == 0 || s[i-1] != '\\') {
			return s[:i]
		}
	}
	return s
}

// unescape undoes options_helper.cc:EscapeOptionString.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			switch c = s[i]; c {
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
