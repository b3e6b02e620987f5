//go:build cgo

package verify

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

const appID = "app"

// modelStores are the kinds, in the forms that make a difference.
func modelStores() []streams.Store {
	m := time.Minute
	w := func(k streams.Kind, s streams.Store) streams.Store {
		s.Kind, s.Retention, s.SegmentInterval = k, 20*m, 10*m
		return s
	}
	return []streams.Store{
		{Kind: streams.KV}, {Kind: streams.TimestampedKV}, {Kind: streams.TimestampedKV, Headers: true}, {Kind: streams.List}, {Kind: streams.FKSubscription},
		w(streams.Window, streams.Store{}), w(streams.TimestampedWindow, streams.Store{}), w(streams.TimestampedWindow, streams.Store{Headers: true}),
		w(streams.Session, streams.Store{}), w(streams.TimeOrderedWindow, streams.Store{WithIndex: true}), w(streams.TimeOrderedSession, streams.Store{}),
		{Kind: streams.Versioned, HistoryRetention: 20 * m, SegmentInterval: 10 * m},
	}
}

func modelName(s streams.Store) string {
	n := string(s.Kind)
	if s.Headers {
		n += "-headers"
	}
	return n
}

// model is a changelog and what a store of it holds after some of it.
type model struct {
	t       *testing.T
	rnd     *rand.Rand
	store   streams.Store
	records []kafkatest.Record
	dbs     map[int64]map[string]string // by segment
	state   string
	applied int64
}

const modelStart = int64(1_700_000_000_000)

func newModel(t *testing.T, rnd *rand.Rand, s streams.Store, n int) *model {
	s.Name = "st"
	m := &model{t: t, rnd: rnd, store: s, state: t.TempDir()}
	for i := range n {
		m.records = append(m.records, m.record(i, n))
	}
	return m
}

// record is the i-th of n, within an hour of event time.
func (m *model) record(i, n int) kafkatest.Record {
	now := modelStart + int64(i)*3_600_000/int64(n)
	ts := now - m.rnd.Int64N(60_000)
	key := fmt.Appendf(nil, "key %04d", m.rnd.IntN(n/3+1))
	be := binary.BigEndian
	r := kafkatest.Record{Timestamp: ts, Key: key}
	start := ts - ts%10_000
	switch m.store.Kind {
	case streams.Window, streams.TimestampedWindow, streams.TimeOrderedWindow:
		r.Key = be.AppendUint32(be.AppendUint64(key, uint64(start)), 0)
	case streams.Session, streams.TimeOrderedSession:
		r.Key = be.AppendUint64(be.AppendUint64(key, uint64(ts)), uint64(start))
	case streams.List:
		r.Key = append(be.AppendUint64(nil, uint64(start)), byte(i%2))
		r.Key = append(r.Key, key...)
	case streams.FKSubscription:
		r.Key = append(append(be.AppendUint32(nil, 8), key...), key...)
	}
	switch x := m.rnd.IntN(100); {
	case x < 15:
	case x < 20:
		r.Value = []byte{}
	default:
		r.Value = fmt.Appendf(nil, "value %d", i)
	}
	if m.rnd.IntN(40) == 0 {
		r.Key = nil
	}
	if m.rnd.IntN(3) == 0 {
		r.Headers = []kafkatest.Header{{Key: "h", Value: key}}
	}
	return r
}

func wireHeaders(hs []kafkatest.Header) []byte {
	b := binary.AppendVarint(nil, int64(len(hs)))
	for _, h := range hs {
		b = append(binary.AppendVarint(b, int64(len(h.Key))), h.Key...)
		b = append(binary.AppendVarint(b, int64(len(h.Value))), h.Value...)
	}
	return b
}

// apply makes the rows that the records up to an offset leave, as the
// application writes them one by one.
func (m *model) apply(to int64) {
	m.applied, m.dbs = to, map[int64]map[string]string{0: {}}
	recs := m.records[:to+1]
	if m.store.Kind == streams.Versioned {
		v := streams.NewVersionedStore(m.store, mapBackend(m.dbs[0]))
		for _, r := range recs {
			if r.Key == nil {
				continue
			}
			if _, err := v.Restore([]streams.VersionedInput{{Key: r.Key, Value: r.Value, TS: r.Timestamp}}); err != nil {
				m.t.Fatal(err)
			}
		}
		return
	}
	conv, err := streams.NewConverter(m.store)
	if err != nil {
		m.t.Fatal(err)
	}
	if m.store.Kind.Segmented() {
		delete(m.dbs, 0)
	}
	newest := int64(-1)
	for _, r := range recs {
		if r.Key == nil {
			continue
		}
		at, err := conv.Rows(r.Key, r.Value, wireHeaders(r.Headers), r.Timestamp, func(row *streams.Row) error {
			db := m.dbs[row.Segment]
			if db == nil {
				db = map[string]string{}
				m.dbs[row.Segment] = db
			}
			if row.Delete {
				delete(db, string(row.Key))
			} else {
				db[string(row.Key)] = string(row.Value)
			}
			return nil
		})
		if err != nil {
			m.t.Fatal(err)
		}
		newest = max(newest, at)
	}
	if m.store.Kind.Segmented() {
		for seg := range m.dbs {
			if seg < m.store.MinLiveSegment(newest) {
				delete(m.dbs, seg)
			}
		}
	}
}

// mapBackend keeps a versioned store's rows in a map.
type mapBackend map[string]string

func (m mapBackend) Get(key []byte) ([]byte, error) {
	if v, ok := m[string(key)]; ok {
		return []byte(v), nil
	}
	return nil, nil
}

func (m mapBackend) Write(rows []streams.VersionedRow) error {
	for _, r := range rows {
		if r.Delete {
			delete(m, string(r.Key))
		} else {
			m[string(r.Key)] = string(r.Value)
		}
	}
	return nil
}

func (m mapBackend) DeleteRange(from, to []byte) error {
	for k := range m {
		if k >= string(from) && k < string(to) {
			delete(m, k)
		}
	}
	return nil
}

// write writes the rows as an application's directory, with the checkpoint.
func (m *model) write() {
	task := streams.TaskDir(m.state, appID, "", streams.TaskID{})
	for seg, rows := range m.dbs {
		dir := streams.DatabaseDir(task, m.store, seg)
		must(m.t, mkdirs(filepath.Dir(dir)))
		families := m.store.ColumnFamilies()
		db, err := rocks.Create(dir, rocks.Options{Families: families})
		must(m.t, err)
		b := db.Batch()
		for k, v := range rows {
			b.Put(len(families)-1, []byte(k), []byte(v))
		}
		must(m.t, db.Write(b))
		b.Close()
		must(m.t, db.Flush())
		must(m.t, db.Close())
	}
	cp := streams.Checkpoint{{Topic: m.topic()}: m.applied}
	must(m.t, cp.Write(filepath.Join(task, streams.CheckpointFile)))
}

func (m *model) topic() string { return streams.ChangelogTopic(appID, "st") }

func (m *model) produce(k *kafkatest.Cluster) {
	conf := []string{"cleanup.policy", "compact"}
	switch {
	case m.store.Kind.Windowed():
		conf = []string{"cleanup.policy", "compact,delete", "retention.ms", fmt.Sprint((20*time.Minute + 24*time.Hour).Milliseconds())}
	case m.store.Kind == streams.Versioned:
		conf = append(conf, "min.compaction.lag.ms", fmt.Sprint((20*time.Minute + 24*time.Hour).Milliseconds()))
	}
	must(m.t, k.Topic(m.topic(), 1, conf...))
	for c := range slices.Chunk(m.records, 50) {
		must(m.t, k.ProduceAll(m.t.Context(), m.topic(), c...))
	}
}

func (m *model) options() Options {
	return Options{Rows: inspect.RowsOptions{Path: filepath.Join(m.state, appID), Store: "st", Kind: m.store.Kind}, TempDir: m.t.TempDir(), Limit: 1000}
}

func open1(t *testing.T) (*kafkatest.Cluster, *kafka.Client) {
	t.Helper()
	k, err := kafkatest.Start(kafkatest.Options{})
	must(t, err)
	t.Cleanup(k.Close)
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: k.Addrs()})
	must(t, err)
	t.Cleanup(c.Close)
	return k, c
}

// TestModel: a store at any offset of its changelog has no difference; one that
// was tampered with has exactly those.
func TestModel(t *testing.T) {
	for _, s := range modelStores() {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/faults=%t", modelName(s), faults), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(9, uint64(len(modelName(s)))))
				k, c := open1(t)
				m := newModel(t, rnd, s, 1500)
				m.produce(k)
				m.apply(int64(900 + rnd.IntN(600)))
				var want Counts
				if faults {
					want = m.tamper()
				}
				m.write()
				res, err := Changelog(t.Context(), c, m.options(), nil)
				must(t, err)
				got := res.Total
				if len(res.Tasks) != 1 || got.Missing != want.Missing || got.Extra != want.Extra || got.Different != want.Different || got.Unverifiable != 0 {
					t.Errorf("got %+v, want %+v", got, want)
					for i, d := range res.Tasks[0].Differences {
						if key, local, log := d.Text(); i < 12 {
							t.Logf("%s %s %q: row %q, changelog %q (%s)", d.What, d.Part, key, local, log, d.Why)
						}
					}
				}
				if want.Findings() > 0 != (res.Tasks[0].Verdict == Differs) {
					t.Errorf("verdict %s", res.Tasks[0].Verdict)
				}
				if got.Same == 0 {
					t.Error("nothing was the same")
				}
			})
		}
	}
}

// tamper changes, deletes and adds rows of live windows, one a key, of keys that
// have no later record: those a row may be ahead by.
func (m *model) tamper() (want Counts) {
	newest := modelStart + 3_600_000
	later := map[string]bool{}
	for _, r := range m.records[m.applied+1:] {
		later[string(r.Key)] = true
	}
	for _, rows := range m.dbs {
		for _, key := range sortedKeys(rows) {
			if m.rnd.IntN(20) > 0 || indexRow(m.store.Kind, []byte(key)) || later[m.recordKey(key)] {
				continue
			}
			if m.store.Kind == streams.Versioned && key[:8] != latest {
				continue
			}
			tk := (&unit{store: m.store}).tableKey([]byte(key))
			if at, ok := keyTime(m.store.Kind, tk); ok && at < newest-15*60_000 {
				continue
			}
			switch m.rnd.IntN(3) {
			case 0:
				delete(rows, key)
				want.Missing++
			case 1:
				rows[key] += "x"
				want.Different++
			case 2:
				other := []byte(key)
				other[slices.Index(other, 'k')] = 'z' // the application's key begins so
				rows[string(other)] = rows[key]
				want.Extra++
			}
		}
	}
	if len(m.dbs) == 1 && m.dbs[0] != nil {
		want.Extra += m.zombies(later)
	}
	return want
}

const latest = "\xff\xff\xff\xff\xff\xff\xff\xff"

// recordKey is the key of the record that made a row.
func (m *model) recordKey(key string) string {
	switch m.store.Kind {
	case streams.Versioned:
		return key[8:]
	case streams.TimeOrderedWindow:
		return key[9:len(key)-4] + key[1:9] + key[len(key)-4:]
	case streams.TimeOrderedSession:
		return key[17:] + key[1:17]
	}
	return key
}

// zombies puts rows back that were deleted last.
func (m *model) zombies(later map[string]bool) (n int64) {
	was := map[string]*kafkatest.Record{}
	for i := range m.records[:m.applied+1] {
		if r := &m.records[i]; r.Value != nil && r.Key != nil {
			was[string(r.Key)] = r
		}
	}
	rows := m.dbs[0]
	for _, key := range sortedKeys(was) {
		r := was[key]
		if later[key] || m.rnd.IntN(5) > 0 {
			continue
		}
		row, value := key, ""
		if m.store.Kind == streams.Versioned {
			row, value = latest+key, string(binary.BigEndian.AppendUint64(nil, uint64(r.Timestamp)))+string(r.Value)
		} else {
			conv, err := streams.NewConverter(m.store)
			must(m.t, err)
			_, err = conv.Rows(r.Key, r.Value, wireHeaders(r.Headers), r.Timestamp, func(x *streams.Row) error {
				value = string(x.Value)
				return nil
			})
			must(m.t, err)
		}
		if _, there := rows[row]; there || m.tampered(row) {
			continue
		}
		rows[row] = value
		n++
	}
	return n
}

// tampered says whether the row was there and was deleted by tamper: then it is
// no zombie.
func (m *model) tampered(row string) bool {
	fresh := *m
	fresh.apply(m.applied)
	_, was := fresh.dbs[0][row]
	return was
}
