package inspect

import (
	"fmt"

	"sstool/internal/lsm"
	"sstool/internal/op"
)

// SkippedPart is a corrupt part of an SST file that RowsOptions.KeepGoing went
// past: its rows are missing, and rows that were deleted or replaced in it may
// show.
type SkippedPart struct {
	File    string `json:"file"`
	What    string `json:"what"`          // data block, index, range tombstones, file (all of it), value
	Offset  int64  `json:"offset"`        // in the file
	LastKey *Key   `json:"last_good_key"` // the last one read of the file before it; null: none
	Error   string `json:"error"`
}

// sayAtMost is how many skipped parts are warned of one by one.
const sayAtMost = 10

// saySkipped tells in a result what was skipped.
func (r *Rows) saySkipped(res *RowsResult) {
	place := Place{StoreKind: string(r.kind), keys: r.key.serde}
	for i, s := range r.skips.List {
		res.Skipped = append(res.Skipped, SkippedPart{File: s.File, What: string(s.What), Offset: s.Offset, LastKey: keyOf(&place, "", s.LastKey), Error: s.Err.Error()})
		if i < sayAtMost {
			r.note("skipped: %s", s.Err)
		}
	}
	if n := len(r.skips.List); n > sayAtMost {
		r.note("%d more corrupt parts were skipped; -o json has them", n-sayAtMost)
	}
	res.SkippedMore = r.skips.More
}

// wrong is why not all rows are read, or not certain; nil when nothing is known
// to be wrong.
func (r *Rows) wrong() error {
	list := r.skips.List
	if r.damage != nil || len(list) == 0 {
		return r.damage
	}
	n := "1 corrupt part"
	if len(list) > 1 {
		n = fmt.Sprintf("%d corrupt parts", len(list))
	}
	if r.skips.More {
		n = "more than " + n
	}
	return &op.Error{
		Kind: op.Corrupt, What: r.notWhole(),
		Err: fmt.Errorf("%s skipped: rows are missing, and rows that were deleted or replaced there may show", n),
		Try: tryRestoreStore,
	}
}

// tryRestoreStore is the next step when blocks of a store are corrupt.
const tryRestoreStore = "restore the store from its changelog; sstool inspect sst --verify --keep-going says what of its files is whole"

// skipping is where databases note what they go past; nil when they are not to.
func (r *Rows) skipping() *lsm.Skips {
	if !r.o.KeepGoing {
		return nil
	}
	return &r.skips
}
