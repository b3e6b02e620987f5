package house

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "sstool"

// owners are the packages that may import a third-party module: one, and the
// packages that help tests. Every module that is imported at all is listed.
var owners = map[string][]string{
	"github.com/spf13/":                     {"cmd"},
	"github.com/olekukonko/tablewriter":     {"cmd"},
	"golang.org/x/term":                     {"cmd"},
	"charm.land/":                           {"tui"},
	"github.com/charmbracelet/x/ansi":       {"tui"}, // widths and cutting, as bubbletea does it
	"github.com/fsnotify/fsnotify":          {"tui"},
	"github.com/linxGnu/grocksdb":           {"internal/rocks"},
	"github.com/twmb/franz-go":              {"internal/kafka", "internal/kafkatest", "internal/worldtest"},
	"github.com/pavlo-v-chernykh/keystore-": {"internal/kafka"},
	"software.sslmate.com/src/go-pkcs12":    {"internal/kafka", "internal/worldtest"},
	"go.yaml.in/yaml/v3":                    {"internal/spec", "cmd"},
	"github.com/itchyny/gojq":               {"internal/serde"},
	"gocloud.dev":                           {"internal/snapshot"}, // blob, fileblob, s3blob; memblob in tests
	"github.com/aws/":                       {"internal/snapshot"}, // how the S3 client is set up
	"filippo.io/age":                        {"internal/snapshot"},
}

// anywhere are modules without a face of their own: compression, checksums, the
// operating system. The command line (cmd) does not need them.
var anywhere = []string{
	"github.com/klauspost/compress", "github.com/pierrec/lz4/v4", "github.com/zeebo/xxh3",
	"github.com/cespare/xxhash/v2", "golang.org/x/sys", "golang.org/x/sync",
}

// testOnly may be imported by tests of any package.
var testOnly = []string{"github.com/rogpeppe/go-internal", "github.com/santhosh-tekuri/jsonschema/v6"}

// level orders the rooms: a package imports only rooms below its own. The
// engines share a level, so they never import each other.
func level(pkg string) int {
	switch room, _, _ := strings.Cut(pkg, "/"); room {
	case "cmd":
		return 3
	case "tui":
		return 2
	case "inspect", "restore", "migrate":
		return 1
	case "internal":
		return 0
	}
	return -1 // build helpers and test programs, which stand alone
}

// stdlibOnly are packages that import the standard library and these.
var stdlibOnly = map[string][]string{
	"internal/op":      {},
	"internal/streams": {"internal/op"},
}

type goPackage struct {
	ImportPath, Dir, Doc               string
	Standard                           bool
	GoFiles, CgoFiles, IgnoredGoFiles  []string
	Imports, TestImports, XTestImports []string
}

func (p goPackage) name() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// packages lists the module's packages with cgo on, so that the files behind
// the build tag are seen; nothing is compiled.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,Standard,GoFiles,CgoFiles,IgnoredGoFiles,Imports,TestImports,XTestImports", module+"/...")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func TestThirdPartyModulesHaveOneOwner(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			checkOwner(t, p.name(), imp, nil)
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			checkOwner(t, p.name(), imp, testOnly)
		}
	}
}

func checkOwner(t *testing.T, pkg, imp string, also []string) {
	t.Helper()
	first, _, _ := strings.Cut(imp, "/")
	if !strings.Contains(first, ".") || level(pkg) < 0 {
		return // the standard library, or this module
	}
	under := func(prefix string) bool { return strings.HasPrefix(imp, prefix) }
	if slices.ContainsFunc(also, under) || level(pkg) < 3 && slices.ContainsFunc(anywhere, under) {
		return
	}
	for prefix, who := range owners {
		if under(prefix) {
			if !slices.Contains(who, pkg) {
				t.Errorf("%s imports %s, which belongs to %s", pkg, imp, strings.Join(who, ", "))
			}
			return
		}
	}
	t.Errorf("%s imports %s, which has no owner: add it to the table in %s with the one package that owns it", pkg, imp, "internal/house")
}

func TestImportsGoDownOnly(t *testing.T) {
	for _, p := range packages(t) {
		from := level(p.name())
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module+"/")
			if !ours || from < 0 {
				continue
			}
			same, _, _ := strings.Cut(p.name(), "/")
			room, _, _ := strings.Cut(to, "/")
			if level(to) > from || level(to) == from && from > 0 && room != same {
				t.Errorf("%s imports %s: imports go down only (cmd → tui → {inspect, restore, migrate} → internal)", p.name(), to)
			}
			if room == "cmd" && p.name() != "cmd/sstool" {
				t.Errorf("%s imports cmd, which only cmd/sstool does", p.name())
			}
		}
	}
}

func TestFactsImportTheStandardLibraryOnly(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		allowed, ok := stdlibOnly[p.name()]
		if !ok {
			continue
		}
		seen++
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			ours, isOurs := strings.CutPrefix(imp, module+"/")
			if isOurs && !slices.Contains(allowed, ours) || strings.Contains(first, ".") {
				t.Errorf("%s imports %s: it may import the standard library and %v", p.name(), imp, allowed)
			}
		}
	}
	if seen != len(stdlibOnly) {
		t.Errorf("%d of %d packages found", seen, len(stdlibOnly))
	}
}

func TestProductionCodeDoesNotImportTestHelpers(t *testing.T) {
	// The embedded cluster is also what sstool demo runs; the benchmark is a
	// program because a test's time limit does not suit it.
	users := []string{"cmd", "internal/demo", "build/bench"}
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, module) && strings.HasSuffix(imp, "test") && !strings.HasSuffix(p.name(), "test") && !slices.Contains(users, p.name()) {
				t.Errorf("%s imports %s outside of tests", p.name(), imp)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.name())
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	for _, p := range packages(t) {
		if level(p.name()) < 0 {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v", p.name(), err)
				continue
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					t.Errorf("%s/%s has an init function", p.name(), name)
				}
			}
		}
	}
}
