package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// linkTag keeps grocksdb from adding its own list of libraries; everything it
// would want is inside the one shared library.
const linkTag = "grocksdb_no_link"

// exports are the lines that make a plain go command build against lib.
// goflags is what the user has set already and is kept.
//
// The rpath goes to the linker only and not into CGO_LDFLAGS, on which Go's
// build cache depends: so `make build`, which wants another rpath, does not
// compile grocksdb again, which takes half a minute.
func exports(lib *library, goflags string) []string {
	goflags = withTag(goflags, linkTag)
	goflags = withLinker(goflags, quoteWord("-r="+lib.libDir()))
	return []string{
		"export CGO_ENABLED=1",
		// Naming CGO_CFLAGS replaces Go's default, so -O2 has to be said again.
		"export CGO_CFLAGS=" + quote("-O2 -g "+quoteWord("-I"+lib.includeDir())),
		"export CGO_LDFLAGS=" + quote(quoteWord("-L"+lib.libDir())+" -lrocksdb"),
		"export GOFLAGS=" + quote(goflags),
	}
}

// withTag adds tag to the -tags entry of a GOFLAGS value.
func withTag(goflags, tag string) string {
	fields, _ := splitFlags(goflags)
	out, found := []string{}, false
	for _, f := range fields {
		name := strings.TrimPrefix(strings.TrimPrefix(f, "-"), "-")
		if tags, ok := strings.CutPrefix(name, "tags="); ok && !found {
			found = true
			list := strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
			if !slices.Contains(list, tag) {
				list = append(list, tag)
			}
			f = "-tags=" + strings.Join(list, ",")
		}
		out = append(out, quoteWord(f))
	}
	if !found {
		out = append(out, "-tags="+tag)
	}
	return strings.Join(out, " ")
}

// withLinker adds a flag for the linker to the -ldflags entry of a GOFLAGS
// value; of several entries the go command takes the last one.
func withLinker(goflags, flag string) string {
	fields, _ := splitFlags(goflags)
	ldflags, out := "", []string{}
	for _, f := range fields {
		if l, ok := strings.CutPrefix(strings.TrimPrefix(f, "-"), "-ldflags="); ok {
			ldflags = l
		} else if l, ok := strings.CutPrefix(f, "-ldflags="); ok {
			ldflags = l
		} else {
			out = append(out, quoteWord(f))
		}
	}
	if !strings.Contains(ldflags, flag) {
		ldflags = strings.TrimSpace(ldflags + " " + flag)
	}
	return strings.Join(append(out, quoteWord("-ldflags="+ldflags)), " ")
}

// splitFlags splits as the go command splits GOFLAGS and CC: at spaces, a
// field may stand in single or double quotes. ok is false when a quote is open.
func splitFlags(s string) (fields []string, ok bool) {
	for s = strings.TrimLeft(s, " \t\n"); s != ""; s = strings.TrimLeft(s, " \t\n") {
		if q := s[0]; q == '\'' || q == '"' {
			end := strings.IndexByte(s[1:], q)
			if end < 0 {
				return append(fields, s[1:]), false
			}
			fields, s = append(fields, s[1:1+end]), s[2+end:]
			continue
		}
		end := strings.IndexAny(s, " \t\n")
		if end < 0 {
			end = len(s)
		}
		fields, s = append(fields, s[:end]), s[end:]
	}
	return fields, true
}

// quoteWord quotes one flag for the go command when it holds a space. There is
// no escape character: a flag with a space and both quotes cannot be written.
func quoteWord(s string) string {
	if !strings.ContainsAny(s, " \t\n'\"") {
		return s
	}
	if strings.Contains(s, "'") {
		return `"` + s + `"`
	}
	return "'" + s + "'"
}

// quote quotes s for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// goEnv reads one variable the way the go command sees it.
func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// grocksdb is the module whose c.h the library is compiled against.
const grocksdb = "github.com/linxGnu/grocksdb"

// headerFile is the c.h of the grocksdb version that go.mod names.
func headerFile() (path, version string, err error) {
	// go mod download fetches the module when it is not in the module cache
	// yet; after that, -mod=mod and a vendored tree make no difference.
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Version}}", grocksdb)
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("go list -m %s: %w%s", grocksdb, err, stderrOf(err))
	}
	version = strings.TrimSpace(string(out))
	out, err = exec.Command("go", "mod", "download", "-json", grocksdb+"@"+version).Output()
	if err != nil {
		return "", "", fmt.Errorf("go mod download %s: %w%s", grocksdb, err, stderrOf(err))
	}
	var m struct{ Dir, Error string }
	if err := json.Unmarshal(out, &m); err != nil || m.Dir == "" {
		return "", "", fmt.Errorf("go mod download %s@%s: no folder (%s)", grocksdb, version, m.Error)
	}
	return filepath.Join(m.Dir, "c.h"), version, nil
}

func stderrOf(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return ": " + strings.TrimSpace(string(e.Stderr))
	}
	return ""
}
