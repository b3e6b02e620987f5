package lsm

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// TableState is one SST file of a database as its own properties tell it.
type TableState struct {
	Name   string // in the directory
	Family string // by the MANIFEST when the file is live, else by its properties; "" when unknown
	Live   bool   // false too when the live set is unknown
	File   File   // what the MANIFEST says; zero when not live
	Info   TableInfo
	Err    error // why Info is not known
}

// ReadTables opens every SST file on disk, reading footer and properties
// alone, parallel files at a time (at least one). Files that cannot be read
// are in Problems afterwards when they are live or the live set is unknown;
// others may just be being written. Files that vanish meanwhile are left out.
func (d *DB) ReadTables(parallel int) []TableState {
	out := make([]TableState, len(d.Tables))
	live := map[string]int{}
	for i, name := range d.Tables {
		out[i].Name = name
		live[name] = i
	}
	if d.Version != nil {
		for _, fam := range d.Version.Families {
			for _, f := range fam.Files {
				if i, ok := live[f.Name()]; ok && f.PathID == 0 {
					out[i].Live, out[i].Family, out[i].File = true, fam.Name, f
				}
			}
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, min(parallel, len(out))) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(out) {
					return
				}
				out[i].read(d.Dir)
			}
		})
	}
	wg.Wait()
	kept := out[:0]
	for _, s := range out {
		if errors.Is(s.Err, fs.ErrNotExist) {
			continue
		}
		kept = append(kept, s)
		switch {
		case s.Err != nil && (s.Live || d.Version == nil):
			what := "cannot be read"
			if s.Live {
				what = fmt.Sprintf("of column family %q cannot be read: level %d loses its rows", s.Family, s.File.Level)
			}
			d.report(s.Name, what, s.Err, cureRestore)
		case s.Err == nil && s.Live:
			d.checkTable(s)
		}
	}
	return kept
}

// read opens one file.
func (s *TableState) read(dir string) {
	t, err := OpenTableFile(filepath.Join(dir, s.Name))
	if err != nil {
		s.Err = err
		return
	}
	if s.Live {
		s.Err = t.AssumeSeq(s.File.LargestSeq)
	}
	s.Info = t.Info()
	if !s.Live {
		s.Family = s.Info.Family
	}
	_ = t.Close()
}

// checkTable reports a live file that was written for another place: an
// ingested one may name another family, others may not.
func (d *DB) checkTable(s TableState) {
	fam, ok := d.Version.Family(s.Family)
	if !ok || s.Info.External {
		return
	}
	if id, has := s.Info.Properties.Uint(PropFamilyID); has && id != unknownFamilyID && id != uint64(fam.ID) {
		d.report(s.Name, fmt.Sprintf("was written for column family %d %q, the MANIFEST has it in %d %q: of another database, or imported", id, s.Info.Family, fam.ID, fam.Name), nil, cureRestore)
	}
}
