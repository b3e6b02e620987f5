package lsm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sstool/internal/op"
)

// listing is what lies in a database's directory (file/filename.cc:
// ParseFileName).
type listing struct {
	dir       string
	sizes     map[string]int64 // of every regular file
	tables    []string
	manifests []string // newest first
	options   []string // newest first
	logs      []LogFile
	size      int64
	irregular map[string]bool // RocksDB's names of what is no file: a directory, a pipe
	foreign   bool            // no file has a name of RocksDB's, but some may be its files
}

func (l *listing) has(name string) bool { _, ok := l.sizes[name]; return ok }

// bare says whether there are SST files and nothing else of a database.
func (l *listing) bare() bool {
	return len(l.tables) > 0 && len(l.manifests)+len(l.options)+len(l.irregular) == 0 && !l.has("CURRENT") && !l.has("IDENTITY")
}

// listDir lists dir; a directory without any RocksDB file is op.NotFound.
func listDir(dir string) (*listing, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, ioError("open database", err)
	}
	l := &listing{dir: dir, sizes: map[string]int64{}, tables: []string{}, irregular: map[string]bool{}}
	current := false
	for _, e := range list {
		st, err := os.Stat(filepath.Join(dir, e.Name())) // through links, as RocksDB
		name := e.Name()
		if err == nil && !st.Mode().IsRegular() && (name == "CURRENT" || isTable(name) || prefixNumber(name, "MANIFEST-") >= 0) {
			l.irregular[name] = true
		}
		if err != nil || !st.Mode().IsRegular() {
			continue // gone meanwhile, or not ours
		}
		l.sizes[name] = st.Size()
		l.size += st.Size()
		switch {
		case isTable(name):
			l.tables = append(l.tables, name)
		case prefixNumber(name, "MANIFEST-") >= 0:
			l.manifests = append(l.manifests, name)
		case prefixNumber(name, "OPTIONS-") >= 0:
			l.options = append(l.options, name)
		case name == "CURRENT":
			current = true
		default:
			if _, ok := fileNumber(name, ".log"); ok {
				l.logs = append(l.logs, LogFile{name, st.Size()})
			}
		}
	}
	newest := func(prefix string) func(a, b string) int {
		return func(a, b string) int { return int(prefixNumber(b, prefix) - prefixNumber(a, prefix)) }
	}
	slices.SortFunc(l.manifests, newest("MANIFEST-"))
	slices.SortFunc(l.options, newest("OPTIONS-"))
	if len(l.tables)+len(l.manifests)+len(l.irregular) > 0 || current {
		return l, nil
	}
	if l.sniff(); !l.foreign {
		l.misnamed()
	}
	if !l.foreign {
		return nil, &op.Error{Kind: op.NotFound, What: "open database " + dir, Err: errors.New("no RocksDB database here: the directory has no CURRENT, MANIFEST or SST file")}
	}
	return l, nil
}

// isTable says whether a file is an SST file by its name.
func isTable(name string) bool {
	_, sst := fileNumber(name, ".sst")
	_, ldb := fileNumber(name, ".ldb")
	return sst || ldb
}

// fileNumber is the number in a name like 000012.sst.
func fileNumber(name, suffix string) (uint64, bool) {
	num, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(num, 10, 64)
	return n, err == nil
}

// prefixNumber is the number in a name like MANIFEST-000005, -1 when it is no
// such name. Numbers are file numbers: RocksDB keeps them below 2^62.
func prefixNumber(name, prefix string) int64 {
	num, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return -1
	}
	n, err := strconv.ParseInt(num, 10, 63)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
