package topology

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Stdin is the File of a text read from standard input.
const Stdin = "stdin"

// Argument says where a text is, and whose.
type Argument struct {
	ApplicationID string // "" when the argument does not tell
	Path          string // "-": standard input
}

// ParseArgument reads "topology.txt", "-" or "orders=topology.txt". What stands
// before "=" is an application id if one can be called so: a file a=b is
// written ./a=b.
func ParseArgument(s string) (Argument, error) {
	id, path, ok := strings.Cut(s, "=")
	switch {
	case s == "":
		return Argument{}, op.Errorf(op.Usage, "an empty file name, expected a topology's text, or - for standard input")
	case !ok, id != "" && streams.ValidateApplicationID(id) != nil:
		return Argument{Path: s}, nil
	case id == "" || path == "":
		return Argument{}, op.Errorf(op.Usage, "%q is neither a file nor <application id>=<file>", s).WithTry("write a file of that name as ./%s", s)
	}
	return Argument{ApplicationID: id, Path: path}, nil
}

// Load reads the texts that arguments name, in their order. The options hold
// for all of them; an application id in an argument goes before that of the
// options.
func Load(args []string, stdin io.Reader, o Options) ([]*Model, error) {
	var all []Argument
	used := false
	for _, s := range args { // all of them, before anything is read
		a, err := ParseArgument(s)
		if err != nil {
			return nil, err
		}
		if a.Path == "-" && used {
			return nil, op.Errorf(op.Usage, "standard input can be read once, and - is given twice")
		}
		used = used || a.Path == "-"
		all = append(all, a)
	}
	var out []*Model
	for _, a := range all {
		m, err := a.load(stdin, o)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (a Argument) load(stdin io.Reader, o Options) (*Model, error) {
	if a.ApplicationID != "" {
		o.ApplicationID = a.ApplicationID
	}
	if a.Path == "-" {
		o.File = Stdin
		return Parse(stdin, o)
	}
	o.File = a.Path
	f, err := os.Open(a.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, op.Errorf(op.NotFound, "topology: %w", err)
	}
	if err != nil {
		return nil, op.Errorf(op.Failed, "topology: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, op.Errorf(op.Usage, "topology: %s is a directory, expected the text of Topology#describe()", a.Path).WithTry(howToGet)
	}
	return Parse(f, o)
}
