package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The linker sets these (Makefile: -X sstool/cmd.version=…); nothing else
// writes them. Without a commit the one Go stamped is shown.
var (
	version = "dev"
	commit  = ""
)

// versionDoc is what sstool version prints.
type versionDoc struct {
	Version  string  `json:"sstool"`
	Commit   string  `json:"commit"`
	RocksDB  *string `json:"rocksdb"`
	Reason   string  `json:"rocksdb_reason,omitempty"`
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	var out outputFlag
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version, the commit, and the RocksDB and Go it was built with",
		Long: `Prints the version of sstool, the commit it was built from, the version of the
RocksDB library it is linked with, and the Go version.`,
		Annotations: exits(exitsBasic),
		Example:     "  sstool version\n  sstool version -o json",
		Args:        noArgs,
	}
	out.register(cmd, formatTable, formatJSON)
	cmd.RunE = a.run(func(*cobra.Command, []string) error { return a.version(out) })
	return cmd
}

// version is the command; --version of the root is the same.
func (a *app) version(out outputFlag) error {
	return emit(a, out, "version", buildVersion(rocksVersion()), func(w *tableWriter, d versionDoc) {
		rocksdb := unmeasured(d.Reason)
		if d.RocksDB != nil {
			rocksdb = *d.RocksDB
		}
		w.pairs([][2]string{
			{"sstool", d.Version}, {"commit", d.Commit}, {"rocksdb", rocksdb},
			{"go", d.Go}, {"platform", d.Platform},
		})
	})
}

func buildVersion(rocksdb string) versionDoc {
	d := versionDoc{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if rocksdb != "" {
		d.RocksDB = &rocksdb
	} else {
		d.Reason = "built without RocksDB (CGO_ENABLED=0)"
	}
	if d.Commit == "" {
		d.Commit = stampedCommit()
	}
	return d
}

// stampedCommit is what the go command wrote into the binary.
func stampedCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-modified"
		}
	}
	return fmt.Sprintf("%.12s%s", revision, dirty)
}
