package inspect

import (
	"testing"

	"sstool/internal/lsm"
)

// aRun is a sorted run of files with the given ranges, 10 bytes each.
func aRun(level int, ranges ...string) SortedRun {
	r := SortedRun{Level: level}
	for _, s := range ranges {
		r.ranges = append(r.ranges, fileRange{[]byte(s[:1]), []byte(s[2:]), 10})
		r.Files++
		r.Size += 10
	}
	return r
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		name   string
		runs   []SortedRun
		most   int
		shared int64
	}{
		{"one run", []SortedRun{aRun(0, "a-z")}, 1, 0},
		{"apart", []SortedRun{aRun(0, "a-c"), aRun(1, "d-f")}, 1, 0},
		{"one key in common", []SortedRun{aRun(0, "a-d"), aRun(1, "d-f")}, 2, 20},
		{"files of a run lie apart", []SortedRun{aRun(0, "b-b"), aRun(5, "a-c", "d-f", "g-i")}, 2, 20},
		{"all over each other", []SortedRun{aRun(0, "a-z"), aRun(0, "c-d"), aRun(6, "a-b", "c-e")}, 3, 40},
		{"neighbours, never both", []SortedRun{aRun(0, "a-c"), aRun(0, "e-g"), aRun(6, "a-d", "e-h")}, 2, 40},
	} {
		if most, shared := overlap(c.runs); most != c.most || shared != c.shared {
			t.Errorf("%s: %d runs, %d bytes; want %d, %d", c.name, most, shared, c.most, c.shared)
		}
	}
}

func TestLeveled(t *testing.T) {
	s := FamilyShape{Runs: []SortedRun{aRun(0, "a-c"), aRun(0, "a-b"), aRun(0, "x-z"), aRun(0, "a-a"), aRun(1, "a-d", "e-f", "y-z")}}
	s.leveled(map[string]string{"level0_file_num_compaction_trigger": "4"})
	if s.Next == nil || s.Next.Runs != 5 || s.Next.Bytes != 60 || *s.Pending != 60 {
		t.Errorf("next %+v, pending %v; want 4 files of level 0 and the two below them, 60 bytes", s.Next, *s.Pending)
	}
	s = FamilyShape{Runs: []SortedRun{aRun(0, "a-c"), aRun(1, "a-c", "d-f"), aRun(2, "a-z")}}
	s.leveled(map[string]string{"max_bytes_for_level_base": "10"})
	if s.Next == nil || s.Next.Option != "max_bytes_for_level_base" || *s.Pending != 10+5 {
		t.Errorf("next %+v, pending %v; want the 10 bytes above the limit and their share of the next level", s.Next, *s.Pending)
	}
}

func TestCompensation(t *testing.T) {
	half := lsm.TableInfo{Entries: 100, Deletes: 50, RawKeySize: 1000, RawValueSize: 5000, Size: 6000}
	most := lsm.TableInfo{Entries: 100, Deletes: 90, RawKeySize: 1000, RawValueSize: 1000, Size: 2000}
	few := lsm.TableInfo{Entries: 100, Deletes: 49}
	average := averageValue([]lsm.TableInfo{half, most}) // 6000 bytes of values, 60 rows, files as large as what is in them
	if average != 100 {
		t.Errorf("average value %v, want 100", average)
	}
	for _, c := range []struct {
		info lsm.TableInfo
		want int64
	}{{half, 0}, {most, 80 * 100 * 2}, {few, 0}, {lsm.TableInfo{}, 0}} {
		if got := compensation(&c.info, average); got != c.want {
			t.Errorf("%d deletes of %d: %d, want %d", c.info.Deletes, c.info.Entries, got, c.want)
		}
	}
}
