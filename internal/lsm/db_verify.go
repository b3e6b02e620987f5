package lsm

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"sstool/internal/op"
)

// DBInfo is what verifying a whole database found.
type DBInfo struct {
	Dir      string
	Families []FamilyInfo // in the order of the MANIFEST
	Size     int64        // of all live SST files
	WALBytes int64        // in write-ahead logs: rows that are in no SST file yet
}

// FamilyInfo sums a column family's live files.
type FamilyInfo struct {
	Name      string
	Files     int
	Size      int64
	Entries   int64 // point entries in the files, deletes and superseded rows included
	Deletes   int64
	RangeDels int64
}

// Family finds a column family by name.
func (d *DBInfo) Family(name string) (FamilyInfo, bool) {
	for _, f := range d.Families {
		if f.Name == name {
			return f, true
		}
	}
	return FamilyInfo{}, false
}

// VerifyDB verifies a database that nobody has open: its MANIFEST is whole,
// every live file is there with the size and key range the MANIFEST says, and
// every block of every file is right (VerifySST). parallel files are read at a
// time, at least one.
func VerifyDB(dir string, parallel int) (DBInfo, error) {
	v, err := ReadManifest(dir)
	if err != nil {
		return DBInfo{}, err
	}
	if v.Torn {
		return DBInfo{}, corrupt(filepath.Join(dir, v.Manifest), 0, "ends inside a record, expected a closed database to end with a whole one")
	}
	type job struct {
		family int
		file   File
	}
	info := DBInfo{Dir: dir, WALBytes: walBytes(&v)}
	var jobs []job
	for i, f := range v.Families {
		info.Families = append(info.Families, FamilyInfo{Name: f.Name})
		for _, file := range f.Files {
			jobs = append(jobs, job{i, file})
		}
	}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		first error // of the lowest job, so that the answer does not depend on timing
		at    = len(jobs)
		wg    sync.WaitGroup
	)
	for range max(1, min(parallel, len(jobs))) {
		wg.Go(func() {
			var buf []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return
				}
				if buf == nil {
					buf = make([]byte, streamBuffer)
				}
				j := jobs[i]
				sst, err := verifyLive(&v, &v.Families[j.family], j.file, buf)
				mu.Lock()
				if err != nil {
					if i < at {
						at, first = i, err
					}
					next.Store(int64(len(jobs)))
				} else {
					f := &info.Families[j.family]
					f.Files++
					f.Size += sst.Size
					f.Entries += sst.Entries
					f.Deletes += sst.Deletes
					f.RangeDels += sst.RangeDels
					info.Size += sst.Size
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return info, first
}

// verifyLive verifies one live file and compares it with what the MANIFEST
// says about it.
func verifyLive(v *Version, fam *Family, f File, buf []byte) (SSTInfo, error) {
	path := v.Path(f)
	if f.PathID != 0 {
		return SSTInfo{}, op.Errorf(op.Failed, "%s lies in another directory (path %d), expected it in %s", f.Name(), f.PathID, v.Dir)
	}
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return SSTInfo{}, corrupt(filepath.Join(v.Dir, v.Manifest), 0, "%s of column family %q is live, expected the file to exist", f.Name(), fam.Name)
	}
	if err != nil {
		return SSTInfo{}, ioError("verify database", err)
	}
	if st.Size() != f.Size {
		return SSTInfo{}, corrupt(path, st.Size(), "the file ends here, expected %d bytes as the MANIFEST says", f.Size)
	}
	info, err := verifyFile(path, buf)
	if err != nil {
		return info, err
	}
	if id, ok := info.Properties.Uint(PropFamilyID); ok && id != unknownFamilyID && id != uint64(fam.ID) {
		return info, corrupt(path, 0, "written for column family %d, expected %d (%q)", id, fam.ID, fam.Name)
	}
	if seq, ok := info.Properties.globalSeqno(); ok && seq != 0 && seq != f.LargestSeq {
		return info, badSeq(path, seq, f.LargestSeq)
	}
	if info.Entries > 0 && info.OrderChecked {
		if bytes.Compare(info.SmallestKey, f.Smallest) < 0 {
			return info, corrupt(path, 0, "first key %x, expected none before %x", info.SmallestKey, f.Smallest)
		}
		if bytes.Compare(info.LargestKey, f.Largest) > 0 {
			return info, corrupt(path, 0, "last key %x, expected none after %x", info.LargestKey, f.Largest)
		}
	}
	return info, nil
}
