package inspect

import (
	"strings"

	"sstool/internal/lsm"
	"sstool/internal/op"
)

// Verification is what reading a whole file found: every block's checksum,
// every key rebuilt and in order, the counts against the properties.
type Verification struct {
	OK        bool             `json:"ok"`
	Entries   int64            `json:"entries"` // that could be read, range deletes included
	Kinds     map[string]int64 `json:"kinds"`
	Blocks    int64            `json:"data_blocks"`
	BadBlocks int64            `json:"bad_blocks"`
	Errors    []string         `json:"errors"`

	errs []error
}

// verifyFile reads every block of the file, a large one in parts at once;
// KeepGoing goes on past a corrupt one and tells them all.
func verifyFile(t *lsm.Table, path string, o SSTOptions) *Verification {
	info, errs := t.Verify(lsm.ScanOptions{KeepGoing: o.KeepGoing, Parallel: o.Parallel, Turns: o.turns}, nil)
	v := &Verification{
		OK: len(errs) == 0, Entries: info.Entries + info.RangeDels, Blocks: info.DataBlocks, BadBlocks: info.BadBlocks,
		Kinds: map[string]int64{}, errs: errs,
	}
	for _, k := range lsm.Kinds() {
		if n := info.Kinds.Of(k); n > 0 {
			v.Kinds[strings.ReplaceAll(k.String(), " ", "_")] = n
		}
	}
	for _, e := range errs {
		v.Errors = append(v.Errors, problemOf(path, e).What)
	}
	return v
}

// isCorrupt says whether an error is about a file's content.
func isCorrupt(err error) bool { return op.KindOf(err) == op.Corrupt }
