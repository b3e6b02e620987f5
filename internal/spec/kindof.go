package spec

import (
	"cmp"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Databases are the databases of one store, in any number of tasks.
type Databases struct {
	Store     string
	Segmented bool
	Dirs      []DatabaseDir
	// Rows and Sample bound how many rows of a family, and how many databases,
	// are looked at where the column families do not tell the kind: 0 is what
	// FromStateDir looks at.
	Rows, Sample int
}

// DatabaseDir is one database's directory and, for segments, where it starts
// (ms).
type DatabaseDir struct {
	Dir   string
	Start int64
}

// KindOf tells what kind of store the databases are of, as Tell does, and reads
// what it needs for that itself. The result has a Kind, or Candidates, and says
// in From why. Databases that vanish meanwhile are passed over, and so are
// damaged ones while others can be read; op.NotFound when there is none at all.
func KindOf(d Databases) (*Store, error) {
	f := &found{name: d.Store, segmented: d.Segmented}
	sample := cmp.Or(d.Sample, sampleDatabases)
	step := max(1, len(d.Dirs)/sample)
	read := 0
	var damaged error
	for i, x := range d.Dirs {
		db := database{dir: x.Dir, start: x.Start}
		if i%step == 0 {
			v, err := lsm.ReadManifest(x.Dir)
			if op.KindOf(err) == op.NotFound && err != nil {
				continue
			}
			if op.KindOf(err) == op.Corrupt && err != nil {
				damaged = err
				continue
			}
			if err != nil {
				return nil, err
			}
			read++
			for _, fam := range v.Families {
				if fam.Name != streams.OffsetsFamily {
					db.families = append(db.families, fam.Name)
				}
			}
		}
		f.dbs = append(f.dbs, db)
	}
	if read == 0 && damaged != nil {
		return nil, damaged
	}
	if read == 0 && len(d.Dirs) > 0 {
		return nil, op.Errorf(op.NotFound, "store %s: none of its databases can be opened", d.Store)
	}
	st := &Store{Store: streams.Store{Name: f.name}}
	_, err := f.look(st, sample, firstRows(cmp.Or(d.Rows, sampleRows)))
	return st, err
}
