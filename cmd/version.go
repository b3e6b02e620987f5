package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker: -ldflags "-X sstool/cmd.version=1.2.3". Nothing
// else writes it.
var version = "dev"

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
	cmd.RunE = a.run(func(*cobra.Command, []string) error {
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
	})
	return cmd
}

func buildVersion(rocksdb string) versionDoc {
	d := versionDoc{Version: version, Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if rocksdb != "" {
		d.RocksDB = &rocksdb
	} else {
		d.Reason = "built without RocksDB (CGO_ENABLED=0)"
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			d.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-modified"
		}
	}
	d.Commit = fmt.Sprintf("%.12s%s", d.Commit, dirty)
	return d
}
