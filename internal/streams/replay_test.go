package streams

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unlogged stores have nothing to replay: no changelog, or filled by user code.
var unlogged = map[string]bool{"nolog-kv": true, "user-global": true}

// TestReplayMatchesKafkaStreams replays every changelog of every fixture and
// compares with the rows the same Kafka Streams restored: every database,
// every segment directory, every column family.
func TestReplayMatchesKafkaStreams(t *testing.T) {
	for _, f := range loadFixtures(t) {
		t.Run(f.version.String()+"/"+filepath.Base(f.dir), func(t *testing.T) {
			want := f.restored(t)
			stores, topics := f.stores(t)
			seen := map[string]bool{}
			for _, dir := range slices.Sorted(maps.Keys(want)) {
				task, name := storeOfDir(dir)
				if seen[task+"/"+name] || unlogged[name] {
					continue
				}
				seen[task+"/"+name] = true
				pattern := match(stores, name)
				if pattern == "" {
					t.Errorf("%s: no store for it", dir)
					continue
				}
				s := stores[pattern]
				s.Name = name
				topic := topics[pattern]
				if topic == "" {
					topic = ChangelogTopic(f.app, name)
				}
				got := f.replay(t, s, topic, task)
				compare(t, s, ofStore(want, task, name), got)
				f.checkOffsets(t, s, topic, task, ofStore(want, task, name))
			}
			for pattern := range stores {
				found := false
				for k := range seen {
					_, name, _ := strings.Cut(k, "/")
					ok, _ := path.Match(pattern, name)
					found = found || ok
				}
				if !found {
					t.Errorf("store %s: no directory", pattern)
				}
			}
		})
	}
}

func match(stores map[string]Store, name string) string {
	if _, ok := stores[name]; ok {
		return name
	}
	for _, p := range slices.Sorted(maps.Keys(stores)) {
		if ok, _ := path.Match(p, name); ok {
			return p
		}
	}
	return ""
}

func storeOfDir(dir string) (task, store string) {
	p := strings.Split(dir, "/")
	if p[1] == RocksDir {
		return p[0], p[2]
	}
	return p[0], p[1]
}

func ofStore(all map[string]database, task, name string) map[string]database {
	out := map[string]database{}
	for dir, db := range all {
		if a, b := storeOfDir(dir); a == task && b == name {
			out[dir] = db
		}
	}
	return out
}

// replay builds a store's rows from a changelog.
func (f fixture) replay(t *testing.T, s Store, topic, task string) map[string]database {
	parts := f.records(t, topic)
	var recs []record
	if s.Global { // no such store has a windowed start
		for _, p := range slices.Sorted(maps.Keys(parts)) {
			recs = append(recs, parts[p]...)
		}
	} else {
		id, err := ParseTaskID(task)
		if err != nil {
			t.Fatal(err)
		}
		recs = f.from(t, s, topic, parts[int32(id.Partition)], id.Partition)
	}
	if s.Kind == Versioned {
		return replayVersioned(t, s, recs, task)
	}
	c, err := NewConverter(s)
	if err != nil {
		t.Fatal(err)
	}
	families := s.ColumnFamilies()
	segments := map[int64]database{}
	if !s.Kind.Segmented() {
		segments[0] = newDatabase(families)
	}
	streamTime := int64(-1)
	for _, r := range recs {
		segTime, err := c.Rows(r.key, r.value, r.headers, r.ts, func(row *Row) error {
			db := segments[row.Segment]
			if db == nil {
				db = newDatabase(families)
				segments[row.Segment] = db
			}
			if row.Delete {
				delete(db[families[row.Family]], hex.EncodeToString(row.Key))
			} else {
				db[families[row.Family]][hex.EncodeToString(row.Key)] = hex.EncodeToString(row.Value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		streamTime = max(streamTime, segTime)
	}
	out := map[string]database{}
	for segment, db := range segments {
		if !s.Kind.Segmented() || segment >= s.MinLiveSegment(streamTime) {
			out[DatabaseDir(task, s, segment)] = db
		}
	}
	return out
}

// from applies the start of a windowed restore by Kafka Streams 4.4, and
// checks it against the offset that the real one reported.
func (f fixture) from(t *testing.T, s Store, topic string, recs []record, partition int) []record {
	if len(recs) == 0 {
		return recs
	}
	i := 0
	if WindowedProbes(f.version, f.eos) != nil {
		if start, seek := RestoreStartTime(s.Kind, recs[len(recs)-1].ts, s.Retention); seek {
			i = max(0, slices.IndexFunc(recs, func(r record) bool { return r.ts >= start }))
		}
	}
	if real, ok := f.startOffset(t, topic, partition); ok && real != recs[i].offset {
		t.Errorf("%s-%d: starts at %d, Kafka Streams at %d", topic, partition, recs[i].offset, real)
	}
	return recs[i:]
}

func (f fixture) startOffset(t *testing.T, topic string, partition int) (int64, bool) {
	var j struct {
		Restore []struct {
			Partition      string
			StartingOffset int64
		}
	}
	readJSON(t, filepath.Join(f.dir, "restored.json"), &j)
	for _, r := range j.Restore {
		if r.Partition == fmt.Sprintf("%s-%d", topic, partition) {
			return r.StartingOffset, true
		}
	}
	return 0, false
}

// checkOffsets compares the offsets family of every database with what
// OffsetRows would write.
func (f fixture) checkOffsets(t *testing.T, s Store, topic, task string, dbs map[string]database) {
	t.Helper()
	parts := f.records(t, topic)
	for dir, db := range dbs {
		if !OffsetsInStore(f.version) {
			if db[OffsetsFamily] != nil {
				t.Errorf("%s: has an offsets family", dir)
			}
			continue
		}
		want := map[string]string{}
		id, _ := ParseTaskID(task)
		for p, recs := range parts {
			if !s.Global && p != int32(id.Partition) {
				continue
			}
			offset := recs[len(recs)-1].offset
			if s.Global {
				offset++
			}
			for _, r := range OffsetRows(topic, p, offset) {
				want[hex.EncodeToString(r.Key)] = hex.EncodeToString(r.Value)
			}
		}
		if len(want) > 0 && !maps.Equal(want, db[OffsetsFamily]) {
			t.Errorf("%s: offsets family\n want %v\n have %v", dir, want, db[OffsetsFamily])
		}
	}
}

func newDatabase(families []string) database {
	db := database{}
	for _, f := range families {
		db[f] = map[string]string{}
	}
	return db
}

// replayVersioned takes a partition as one batch: all have fewer than 1000
// records, so one poll can return them.
func replayVersioned(t *testing.T, s Store, recs []record, task string) map[string]database {
	var in []versionedInput
	for _, r := range recs {
		in = append(in, versionedInput{r.key, r.value, r.ts})
	}
	byKey, _ := replayKeys(t, s, in, []int{len(in)})
	byBatch, _ := replayBatches(t, s, in, []int{len(in)})
	if !maps.EqualFunc(byKey, byBatch, bytes.Equal) {
		t.Errorf("%s: by key\n%sby batch\n%s", s.Name, dump(byKey), dump(byBatch))
	}
	db := newDatabase(s.ColumnFamilies())
	for k, v := range byKey {
		db[DefaultFamily][hex.EncodeToString([]byte(k))] = hex.EncodeToString(v)
	}
	return map[string]database{DatabaseDir(task, s, 0): db}
}

func compare(t *testing.T, s Store, want, got map[string]database) {
	t.Helper()
	where := func(dir, family string) string { return fmt.Sprintf("%s %s %s", s.Kind, dir, family) }
	for dir, db := range want {
		g := got[dir]
		if g == nil {
			t.Errorf("%s: database missing, %d rows", where(dir, ""), size(db))
			continue
		}
		for family, rows := range db {
			if family == OffsetsFamily {
				continue
			}
			if g[family] == nil {
				t.Errorf("%s: family missing, %d rows", where(dir, family), len(rows))
				continue
			}
			bad := 0
			for k, v := range rows {
				if have, ok := g[family][k]; !ok || have != v {
					if bad++; bad <= 3 {
						t.Errorf("%s: key %s\n want %s\n have %s (%v)", where(dir, family), k, v, have, ok)
					}
				}
			}
			for k, v := range g[family] {
				if _, ok := rows[k]; !ok {
					if bad++; bad <= 3 {
						t.Errorf("%s: unexpected key %s = %s", where(dir, family), k, v)
					}
				}
			}
			if bad > 0 {
				t.Errorf("%s: %d of %d rows differ", where(dir, family), bad, len(rows))
			}
		}
		for family := range g {
			if db[family] == nil {
				t.Errorf("%s: unexpected family", where(dir, family))
			}
		}
	}
	for dir, db := range got {
		if want[dir] == nil {
			t.Errorf("%s: unexpected database with %d rows", where(dir, ""), size(db))
		}
	}
}

func size(db database) (n int) {
	for family, rows := range db {
		if family != OffsetsFamily {
			n += len(rows)
		}
	}
	return n
}
