package migrate

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/clienttest"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/spec"
	"sstool/internal/streams"
)

// ttlWorld is a cluster with the changelogs of an application.
type ttlWorld struct {
	t       testing.TB
	cluster *kafkatest.Cluster
	client  *kafka.Client
}

func newTTLWorld(t testing.TB) *ttlWorld {
	t.Helper()
	cluster, c := clienttest.Start(t, kafkatest.Options{})
	return &ttlWorld{t, cluster, c}
}

func (w *ttlWorld) changelog(store string, partitions int32, recs ...kafkatest.Record) {
	w.t.Helper()
	w.topic(streams.ChangelogTopic("app", store), partitions, "cleanup.policy", "compact")
	w.produce(store, recs...)
}

func (w *ttlWorld) topic(name string, partitions int32, configs ...string) {
	w.t.Helper()
	if err := w.cluster.Topic(name, partitions, configs...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *ttlWorld) produce(store string, recs ...kafkatest.Record) {
	w.t.Helper()
	if err := w.cluster.ProduceAll(context.Background(), streams.ChangelogTopic("app", store), recs...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *ttlWorld) plan(o TTLOptions) *TTLPlan {
	w.t.Helper()
	p, err := PlanTTL(context.Background(), w.client, w.fill(o), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *ttlWorld) fill(o TTLOptions) TTLOptions {
	o.ApplicationID, o.TempDir = "app", w.t.TempDir()
	if o.Store.Name == "" {
		o.Store = kvStore("st")
	}
	if o.Now.IsZero() {
		o.Now = time.UnixMilli(ttlNow)
	}
	return o
}

const (
	ttlNow = int64(1_767_600_000_000)
	hour   = int64(3_600_000)
)

func kvStore(name string) TTLStore {
	return TTLStore{Name: name, Kind: streams.TimestampedKV, KindWhy: "as the test says"}
}

func kvRecord(p int32, key, value string, ts int64) kafkatest.Record {
	r := kafkatest.Record{Partition: p, Key: []byte(key), Timestamp: ts}
	if value != "-" {
		r.Value = []byte(value)
	}
	return r
}

func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func lines(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// selected are the keys of a plan: "store/partition/key".
func selected(t testing.TB, p *TTLPlan) []string {
	t.Helper()
	var out []string
	for _, s := range p.Deletion().Stores {
		for _, part := range s.Parts {
			if part.Keys == nil {
				continue
			}
			var last string
			err := part.Keys.Each(context.Background(), func(key []byte) error {
				if s := string(key); last != "" && s <= last {
					t.Errorf("%s-%d: %q after %q", s, part.Partition, key, last)
				}
				last = string(key)
				out = append(out, fmt.Sprintf("%s/%d/%s", s.Store, part.Partition, key))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func wantKeys(t testing.TB, p *TTLPlan, want ...string) {
	t.Helper()
	if got := selected(t, p); !slices.Equal(got, want) {
		t.Errorf("selected\n%q, expected\n%q", got, want)
	}
}

// The newest record of a key decides, by offset; a deleted one is no row, times
// that make no sense stay unless asked for.
func TestTTLPlan(t *testing.T) {
	w := newTTLWorld(t)
	w.changelog("st", 2,
		kvRecord(0, "old", "v", ttlNow-30*hour), kvRecord(0, "renewed", "v", ttlNow-30*hour), kvRecord(0, "deleted", "v", ttlNow-30*hour), kvRecord(0, "older-again", "v", ttlNow-hour),
		kvRecord(0, "young", "v", ttlNow-hour), kvRecord(0, "renewed", "v", ttlNow-2*hour), kvRecord(0, "deleted", "-", ttlNow-30*hour), kvRecord(0, "older-again", "w", ttlNow-25*hour),
		kvRecord(1, "exact", "v", ttlNow-24*hour), kvRecord(1, "just", "v", ttlNow-24*hour-1), kvRecord(1, "future", "v", ttlNow+hour), kvRecord(1, "none", "v", -1),
		kvRecord(1, "skewed", "v", ttlNow+60_000), kvRecord(1, "empty", "", ttlNow-48*hour), kafkatest.Record{Partition: 1, Value: []byte("no key"), Timestamp: 5},
	)
	p := w.plan(TTLOptions{OlderThan: 24 * time.Hour})
	wantKeys(t, p, "st/0/old", "st/0/older-again", "st/1/empty", "st/1/just")
	if p.Total.Rows != 10 || p.Total.Selected.Rows != 4 || p.Total.Unknown != 2 || p.Unknown != (TTLUnknown{Missing: 1, Future: 1}) {
		t.Errorf("%+v %+v", p.Total, p.Unknown)
	}
	if want := int64(len("oldv") + len("older-againw") + len("empty") + len("justv")); p.Total.Selected.Bytes != want {
		t.Errorf("%d bytes, expected %d", p.Total.Selected.Bytes, want)
	}
	if o, n := p.Total.Oldest, p.Total.Newest; o.UnixMilli() != ttlNow-48*hour || n.UnixMilli() != ttlNow+60_000 {
		t.Errorf("oldest %v, newest %v", o, n)
	}
	var rows, gone int64
	for _, a := range p.Histogram {
		rows += a.Rows
		gone += a.Selected.Rows
		if a.Selected.Rows > 0 && a.From < 24*hour {
			t.Errorf("rows of age %d ms would go", a.From)
		}
	}
	if rows != 8 || gone != 4 {
		t.Errorf("the histogram has %d rows, %d selected", rows, gone)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "no key") {
		t.Errorf("%q", p.Warnings)
	}
	if s := p.Partitions[0].Samples; len(s) != 2 || s[0].Key != "old" && s[1].Key != "old" {
		t.Errorf("%+v", s)
	}
	if e := p.Deletion().Stores[0].Parts[1].End; e != 7 {
		t.Errorf("planned end %d", e)
	}

	p = w.plan(TTLOptions{OlderThan: 24 * time.Hour, DeleteUnknown: true})
	wantKeys(t, p, "st/0/old", "st/0/older-again", "st/1/empty", "st/1/future", "st/1/just", "st/1/none")

	before := ttlNow - 29*hour
	wantKeys(t, w.plan(TTLOptions{Before: &before}), "st/0/old", "st/1/empty")
	p = w.plan(TTLOptions{OlderThan: 24 * time.Hour, MaxRows: 3})
	wantKeys(t, p, "st/0/old", "st/0/older-again", "st/1/empty")
	if p.Limited != 1 || p.Total.Selected.Rows != 3 {
		t.Errorf("%d left, %d selected", p.Limited, p.Total.Selected.Rows)
	}
	wantKeys(t, w.plan(TTLOptions{OlderThan: 24 * time.Hour, MaxRows: 1}), "st/1/empty") // the oldest, wherever it is
	wantKeys(t, w.plan(TTLOptions{Prefix: "o", MaxRows: 1}), "st/0/old")
	wantKeys(t, w.plan(TTLOptions{OlderThan: 24 * time.Hour, DeleteUnknown: true, MaxRows: 5}), "st/0/old", "st/0/older-again", "st/1/empty", "st/1/future", "st/1/just")
	wantKeys(t, w.plan(TTLOptions{Prefix: "old"}), "st/0/old", "st/0/older-again")
	p = w.plan(TTLOptions{Keys: lines("just\nyoung\r\n\nabsent"), OlderThan: 24 * time.Hour})
	wantKeys(t, p, "st/1/just")
	if *p.KeysGiven != 3 || *p.KeysFound != 2 {
		t.Errorf("%d of %d keys", *p.KeysFound, *p.KeysGiven)
	}
	// Stream time of partition 0 is an hour ago, of partition 1 a minute ahead.
	p = w.plan(TTLOptions{OlderThan: 25 * time.Hour, StreamTime: true})
	wantKeys(t, p, "st/0/old", "st/1/empty")
	if c := p.Partitions[0].Cutoff.UnixMilli(); c != ttlNow-26*hour {
		t.Errorf("cutoff %d", c)
	}
}

// The time comes from the value, or from another store; a failing expression
// never deletes.
func TestTTLTimes(t *testing.T) {
	w := newTTLWorld(t)
	at := func(hours int64) string { return serde.Time(ttlNow - hours*hour).String() }
	long := func(ms int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(ms))) }
	w.changelog("st", 1,
		kvRecord(0, "a|2026-01-01", `{"at":"`+at(30)+`","n":1}`, ttlNow), kvRecord(0, "b|2026-01-05", `{"at":"`+at(2)+`","n":2}`, ttlNow-99*hour),
		kvRecord(0, "c|2026-01-02", `{"n":3}`, ttlNow-99*hour), kvRecord(0, "d|x", `{"at":`+fmt.Sprint((ttlNow-40*hour)/1000)+`,"n":4}`, ttlNow))
	query := func(expr string) *TTLQuery {
		q, err := serde.ParseQuery(expr, "$key")
		if err != nil {
			t.Fatal(err)
		}
		return &TTLQuery{q, expr}
	}
	where := func(expr string) *TTLQuery {
		q, err := serde.ParseQuery(expr)
		if err != nil {
			t.Fatal(err)
		}
		return &TTLQuery{q, expr}
	}
	p := w.plan(TTLOptions{OlderThan: 24 * time.Hour, Timestamp: query(".at")})
	wantKeys(t, p, "st/0/a|2026-01-01", "st/0/d|x")
	if p.Unknown.Missing != 1 {
		t.Errorf("%+v", p.Unknown)
	}
	// An expression that fits no row does not empty the store.
	o := TTLOptions{OlderThan: 24 * time.Hour, Timestamp: query(".att"), DeleteUnknown: true}
	if _, err := PlanTTL(t.Context(), w.client, w.fill(o), nil); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "none of the 4 rows has a time") {
		t.Error(err)
	}
	o.DryRun = true
	if p := w.plan(o); len(p.Refused) != 1 || p.Total.Selected.Rows != 4 {
		t.Errorf("%+v, %q", p.Total, p.Refused)
	}
	cut := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	wantKeys(t, w.plan(TTLOptions{Before: &cut, Timestamp: query(`$key | split("|")[1]`)}), "st/0/a|2026-01-01")
	wantKeys(t, w.plan(TTLOptions{Where: where(`.key | split("|")[1] < "2026-01-03"`)}), "st/0/a|2026-01-01", "st/0/c|2026-01-02")
	wantKeys(t, w.plan(TTLOptions{Where: where(`.value.n > 1`), OlderThan: 24 * time.Hour}), "st/0/b|2026-01-05", "st/0/c|2026-01-02")
	p = w.plan(TTLOptions{Where: where(`if .value.n == 2 then true else error("no") end`)})
	wantKeys(t, p, "st/0/b|2026-01-05")
	if p.WhereFailed.Rows != 3 || !strings.Contains(p.WhereFailed.First, "no") {
		t.Errorf("%+v", p.WhereFailed)
	}
	p = w.plan(TTLOptions{Where: where(`.value.n`)})
	if wantKeys(t, p); p.WhereFailed.Rows != 4 || !strings.Contains(p.WhereFailed.First, "number") {
		t.Errorf("not a boolean: %+v", p.WhereFailed)
	}
	stated, err := serde.Parse("long")
	if err != nil {
		t.Fatal(err)
	}
	p = w.plan(TTLOptions{OlderThan: time.Hour, Timestamp: query("."), Value: stated})
	if wantKeys(t, p); p.Undecoded.Rows != 4 || p.Unknown.Missing != 4 {
		t.Errorf("%+v %+v", p.Undecoded, p.Unknown)
	}

	w.changelog("touched", 1, kvRecord(0, "a|2026-01-01", long(ttlNow-30*hour), ttlNow), kvRecord(0, "b|2026-01-05", long(ttlNow-hour), ttlNow), kvRecord(0, "d|x", long(-1), ttlNow),
		kvRecord(0, "gone", long(ttlNow-50*hour), ttlNow), kvRecord(0, "zz", long(ttlNow-50*hour), ttlNow), kvRecord(0, "zz-young", long(ttlNow), ttlNow))
	w.changelog("more", 1, kvRecord(0, "a|2026-01-01", "x", ttlNow), kvRecord(0, "b|2026-01-05", "x", ttlNow), kvRecord(0, "gone", "x", ttlNow), kvRecord(0, "aa", "x", 0))
	touched := kvStore("touched")
	p = w.plan(TTLOptions{OlderThan: 24 * time.Hour, Companion: &touched, Also: []TTLStore{kvStore("more"), touched}})
	wantKeys(t, p, "more/0/a|2026-01-01", "more/0/gone", "st/0/a|2026-01-01", "touched/0/a|2026-01-01", "touched/0/gone", "touched/0/zz")
	if p.Total.Rows != 4 || p.Total.Selected.Rows != 1 || p.Unknown.Missing != 2 {
		t.Errorf("%+v %+v", p.Total, p.Unknown)
	}
	p = w.plan(TTLOptions{OlderThan: 24 * time.Hour, Companion: &touched})
	wantKeys(t, p, "st/0/a|2026-01-01")
}

// Random changelogs of several partitions and stores against a plain map, with
// tables that spill.
func TestTTLModel(t *testing.T) {
	type row struct {
		value string
		ts    int64
	}
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		w := newTTLWorld(t)
		parts := int32(1 + rnd.IntN(4))
		stores := []string{"st", "also"}
		model := map[string]map[string]row{}
		for _, s := range stores {
			w.topic(streams.ChangelogTopic("app", s), parts, "cleanup.policy", "compact")
			model[s] = map[string]row{}
			var recs []kafkatest.Record
			for range 20_000 {
				key := fmt.Sprintf("key-%d", rnd.IntN(6_000))
				part := serde.Partition([]byte(key), parts)
				ts := ttlNow - rnd.Int64N(48*hour)
				value := strings.Repeat("v", rnd.IntN(40))
				r := kafkatest.Record{Partition: part, Key: []byte(key), Timestamp: ts}
				id := fmt.Sprintf("%d/%s", part, key)
				if rnd.IntN(5) == 0 {
					delete(model[s], id)
				} else {
					r.Value = []byte(value)
					model[s][id] = row{value, ts}
				}
				recs = append(recs, r)
			}
			w.produce(s, recs...)
		}
		o := TTLOptions{OlderThan: time.Duration(rnd.Int64N(48)) * time.Hour, Memory: 70 << 20}
		o.OlderThan = max(o.OlderThan, time.Hour)
		joined := seed%2 == 1
		if joined {
			o.Also = []TTLStore{kvStore("also")}
		}
		p := w.plan(o)
		var want []string
		for id, r := range model["st"] {
			if r.ts >= ttlNow-o.OlderThan.Milliseconds() {
				continue
			}
			want = append(want, "st/"+id)
			if _, ok := model["also"][id]; ok && joined {
				want = append(want, "also/"+id)
			}
		}
		got := selected(t, p)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %d selected, expected %d", seed, len(got), len(want))
		}
		if p.Total.Rows != int64(len(model["st"])) {
			t.Errorf("seed %d: %d rows, expected %d", seed, p.Total.Rows, len(model["st"]))
		}
		var bytes int64
		for id, r := range model["st"] {
			bytes += int64(len(id) - 2 + len(r.value))
		}
		if p.Total.Bytes != bytes {
			t.Errorf("seed %d: %d bytes, expected %d", seed, p.Total.Bytes, bytes)
		}
		w.client.Close()
		w.cluster.Close()
	}
}

// Aborted records are not rows, and whether the application sees them must be
// known; an open transaction is refused, in a dry run told.
func TestTTLTransactions(t *testing.T) {
	w := newTTLWorld(t)
	ctx := t.Context()
	w.changelog("st", 1, kvRecord(0, "a", "v", ttlNow-30*hour), kvRecord(0, "b", "v", ttlNow-hour))
	topic := streams.ChangelogTopic("app", "st")
	if err := w.cluster.Transaction(ctx, topic, false, kvRecord(0, "a", "aborted", ttlNow), kvRecord(0, "b", "aborted", ttlNow-40*hour)); err != nil {
		t.Fatal(err)
	}
	o := TTLOptions{OlderThan: 24 * time.Hour}
	_, err := PlanTTL(ctx, w.client, w.fill(o), nil)
	if op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "aborted") {
		t.Errorf("guarantee not known: %v", err)
	}
	o.Guarantee = spec.ExactlyOnce
	wantKeys(t, w.plan(o), "st/0/a")
	o.Guarantee = spec.AtLeastOnce
	wantKeys(t, w.plan(o), "st/0/b")

	o.Guarantee = spec.ExactlyOnce
	end, err := w.cluster.Begin(ctx, topic, kvRecord(0, "c", "open", ttlNow-30*hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PlanTTL(ctx, w.client, w.fill(o), nil); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "transaction") {
		t.Errorf("open transaction: %v", err)
	}
	o.DryRun = true
	p := w.plan(o)
	if wantKeys(t, p, "st/0/a"); len(p.Refused) != 1 {
		t.Errorf("%q", p.Refused)
	}
	if err := end(true); err != nil {
		t.Fatal(err)
	}
}

// While the application runs, or who may not look or write, is refused; a dry
// run tells of it and shows the plan.
func TestTTLRunning(t *testing.T) {
	w := newTTLWorld(t)
	w.changelog("st", 1, kvRecord(0, "a", "v", 5))
	w.topic("in", 1)
	if err := w.cluster.ProduceAll(t.Context(), "in", kvRecord(0, "a", "v", 5)); err != nil {
		t.Fatal(err)
	}
	refused := func(c *kafka.Client, want ...string) {
		t.Helper()
		o := w.fill(TTLOptions{OlderThan: time.Hour})
		if _, err := PlanTTL(t.Context(), c, o, nil); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), want[0]) || len(op.Tries(err)) == 0 {
			t.Errorf("%q: %v", want, err)
		}
		o.DryRun = true
		p, err := PlanTTL(t.Context(), c, o, nil)
		if err != nil || len(p.Refused) != len(want) {
			t.Fatal(p, err)
		}
		for i := range want {
			if !strings.Contains(p.Refused[i], want[i]) {
				t.Errorf("%q is not in %q", want[i], p.Refused[i])
			}
		}
		wantKeys(t, p, "st/0/a")
	}
	for _, protocol := range []string{"classic", "consumer"} {
		leave, err := w.cluster.Join(t.Context(), "app", "in", protocol)
		if err != nil {
			t.Fatal(err)
		}
		refused(w.client, "1 members")
		leave()
	}
	wantKeys(t, w.plan(TTLOptions{OlderThan: time.Hour}), "st/0/a")

	cluster, err := kafkatest.Start(kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}}, Extra: kafkatest.ReadOnly("bob", "b", "app-st-changelog")})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	w.cluster = cluster
	w.changelog("st", 1, kvRecord(0, "a", "v", 5))
	c := openKafka(t, cluster, "security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", "PLAIN", "sasl.jaas.config", `x.PlainLoginModule required username="bob" password="b";`)
	refused(c, "cannot be seen", "WRITE on Topic:app-st-changelog")
}

func TestTTLRefuses(t *testing.T) {
	w := newTTLWorld(t)
	w.changelog("st", 1, kvRecord(0, "a", "v", 5))
	w.topic("app-deleting-changelog", 1, "cleanup.policy", "delete")
	w.topic("app-both-changelog", 1, "cleanup.policy", "compact,delete")
	w.topic("app-lag-changelog", 1, "cleanup.policy", "compact", "min.compaction.lag.ms", "90000000")
	w.topic("app-two-changelog", 2, "cleanup.policy", "compact")
	w.topic("app-suppress-changelog", 1, "cleanup.policy", "compact")
	for range 3 {
		if err := w.cluster.ProduceAll(t.Context(), "app-suppress-changelog", kafkatest.Record{Key: []byte("k"), Value: []byte("v"), Headers: []kafkatest.Header{{Key: "v", Value: []byte{3}}}}); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(s TTLStore, change func(*TTLOptions)) error {
		o := TTLOptions{OlderThan: time.Hour, Store: s}
		if change != nil {
			change(&o)
		}
		_, err := PlanTTL(t.Context(), w.client, w.fill(o), nil)
		return err
	}
	for _, k := range streams.Kinds() {
		if k == streams.KV || k == streams.TimestampedKV {
			continue
		}
		err := plan(TTLStore{Name: "st", Kind: k, KindWhy: "as given", Certain: true}, nil)
		if op.KindOf(err) != op.Precondition || len(op.Tries(err)) == 0 {
			t.Errorf("%s: %v", k, err)
		}
	}
	for name, c := range map[string]struct {
		store  TTLStore
		change func(*TTLOptions)
		want   string
	}{
		"unknown kind":     {store: TTLStore{Name: "st", Candidates: []streams.Kind{streams.KV, streams.Versioned}}, want: "kv or versioned"},
		"global":           {store: TTLStore{Name: "st", Kind: streams.TimestampedKV, Global: true}, want: "global"},
		"source topic":     {store: TTLStore{Name: "st", Kind: streams.TimestampedKV, Topic: "input", SourceTopic: true}, want: "input"},
		"no compact":       {store: kvStore("deleting"), want: "cleanup.policy"},
		"windows":          {store: kvStore("both"), want: "compact,delete"},
		"versioned":        {store: kvStore("lag"), want: "min.compaction.lag.ms"},
		"suppress":         {store: kvStore("suppress"), want: "suppression buffer"},
		"other partitions": {store: kvStore("st"), change: func(o *TTLOptions) { o.Also = []TTLStore{kvStore("two")} }, want: "partitions"},
		"also of a kind":   {store: kvStore("st"), change: func(o *TTLOptions) { o.Also = []TTLStore{{Name: "w", Kind: streams.Session}} }, want: "session"},
	} {
		if err := plan(c.store, c.change); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []TTLStore{kvStore("absent"), {Name: "absent"}} {
		if err := plan(s, nil); op.KindOf(err) != op.NotFound {
			t.Errorf("absent: %v", err)
		}
	}
	if err := plan(TTLStore{Name: "lag", Kind: streams.KV, Certain: true}, nil); err != nil {
		t.Errorf("a kind that is certain: %v", err)
	}
	at := int64(5)
	for name, change := range map[string]func(*TTLOptions){
		"nothing":   func(o *TTLOptions) { o.OlderThan = 0 },
		"two":       func(o *TTLOptions) { o.Before = &at },
		"stream":    func(o *TTLOptions) { o.OlderThan, o.StreamTime, o.Prefix = 0, true, "x" },
		"twice":     func(o *TTLOptions) { o.Also = []TTLStore{kvStore("st")} },
		"itself":    func(o *TTLOptions) { s := kvStore("st"); o.Companion = &s },
		"guarantee": func(o *TTLOptions) { o.Guarantee = "maybe" },
		"unknown":   func(o *TTLOptions) { o.OlderThan, o.Prefix, o.DeleteUnknown = 0, "x", true },
	} {
		if err := plan(kvStore("st"), change); op.KindOf(err) != op.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Timestamps that all lie in one hour tell nothing about age (case K20).
func TestTTLUselessAge(t *testing.T) {
	w := newTTLWorld(t)
	var recs []kafkatest.Record
	for i := range int64(1000) {
		recs = append(recs, kvRecord(0, fmt.Sprintf("KL%04d|2026-01-05", i), "v", ttlNow-5*hour+i*2000))
	}
	recs = append(recs, kvRecord(0, "early", "v", ttlNow-500*hour))
	w.changelog("st", 1, recs...)
	p := w.plan(TTLOptions{OlderThan: 24 * time.Hour})
	if p.Spread == nil || !p.Spread.Useless || p.Spread.Share < 0.99 {
		t.Errorf("%+v", p.Spread)
	}
	if len(p.Advice) == 0 || !strings.Contains(p.Advice[0].Text, "record age is useless here: 99 % of timestamps lie within 1 h") {
		t.Errorf("%+v", p.Advice)
	}
	for i := range int64(1000) {
		recs[i].Timestamp = ttlNow - i*hour
	}
	w.produce("st", recs...)
	if p := w.plan(TTLOptions{OlderThan: 24 * time.Hour}); p.Spread.Useless {
		t.Errorf("%+v", p.Spread)
	}
}

func TestKeyLines(t *testing.T) {
	hexa, err := serde.Parse("hex")
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string, s serde.Serde) (out []string, err error) {
		err = eachKeyLine(strings.NewReader(text), s, func(key []byte) error { out = append(out, string(key)); return nil })
		return out, err
	}
	if got, err := read("a b\r\n\n c\nlast", nil); err != nil || !slices.Equal(got, []string{"a b", " c", "last"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read("6162\n00ff\n", hexa); err != nil || !slices.Equal(got, []string{"ab", "\x00\xff"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read("6162\n0g\n", hexa); op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
	if _, err := read(strings.Repeat("x", maxKeyLine+1), nil); op.KindOf(err) != op.Usage {
		t.Error(err)
	}
	w := newTTLWorld(t)
	w.changelog("st", 1, kvRecord(0, "a", "v", 5))
	_, err = PlanTTL(t.Context(), w.client, w.fill(TTLOptions{Keys: lines(manyLines(100_000)), Memory: 8 << 20}), nil)
	if op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), "memory") {
		t.Error(err)
	}
}

func FuzzKeyLines(f *testing.F) {
	f.Add("a\nb\r\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		err := eachKeyLine(strings.NewReader(text), nil, func(key []byte) error {
			if n++; len(key) == 0 || strings.Contains(string(key), "\n") {
				t.Errorf("%q", key)
			}
			return nil
		})
		if err == nil && n > strings.Count(text, "\n")+1 {
			t.Errorf("%d keys of %q", n, text)
		}
	})
}

func TestTTLBins(t *testing.T) {
	b := ttlBins{counts: map[int64]int64{}}
	for i := range int64(99) {
		b.add(ttlNow + i*30_000) // 49.5 minutes
	}
	b.add(0)
	if s := b.spread(); s.Share != 0.99 {
		t.Errorf("%+v", s)
	}
	if s := (&ttlBins{counts: map[int64]int64{}}).spread(); s != nil {
		t.Errorf("%+v", s)
	}
}

func FuzzTTLVictim(f *testing.F) {
	f.Add(appendVictim(nil, &ttlRow{size: 12}, &ttlRow{partition: 3, key: []byte("key")}, ttlNow, timeKnown, []*ttlRow{nil, {size: 7}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v ttlVictim
		rest, err := v.read(b, 2)
		if err == nil && len(rest) >= len(b) {
			t.Error("nothing was read")
		}
	})
}

func TestTTLVictim(t *testing.T) {
	b := appendVictim(nil, nil, &ttlRow{partition: 3, key: []byte("key")}, -7, timeNegative, []*ttlRow{{size: 0}, nil})
	b = appendVictim(b, &ttlRow{size: 9}, &ttlRow{partition: 4, key: nil}, ttlNow, timeKnown, []*ttlRow{nil, {size: 1 << 40}})
	var v ttlVictim
	rest, err := v.read(b, 2)
	if err != nil || v.partition != 3 || string(v.key) != "key" || v.time != -7 || v.class != timeNegative || v.size != -1 || !slices.Equal(v.others, []int64{0, -1}) {
		t.Errorf("%+v, %v", v, err)
	}
	if rest, err = v.read(rest, 2); err != nil || len(rest) != 0 || v.size != 9 || len(v.key) != 0 || !slices.Equal(v.others, []int64{-1, 1 << 40}) {
		t.Errorf("%+v, %v", v, err)
	}
	for n := range b {
		if _, err := v.read(b[:n], 2); err != nil && op.KindOf(err) != op.Failed {
			t.Error(err)
		}
	}
}

// The request is one line that tells any two apart.
func TestTTLRequest(t *testing.T) {
	base := func() TTLOptions {
		return TTLOptions{ApplicationID: "a", Store: kvStore("st"), OlderThan: 36 * time.Hour}
	}
	seen := map[string]string{}
	at, s := ttlNow, kvStore("x")
	for name, change := range map[string]func(*TTLOptions){
		"base": func(*TTLOptions) {}, "app": func(o *TTLOptions) { o.ApplicationID = "b" }, "store": func(o *TTLOptions) { o.Store.Name = "y" }, "also": func(o *TTLOptions) { o.Also = []TTLStore{s} },
		"companion": func(o *TTLOptions) { o.Companion = &s }, "older": func(o *TTLOptions) { o.OlderThan++; o.OlderThan += time.Hour }, "stream": func(o *TTLOptions) { o.StreamTime = true },
		"before": func(o *TTLOptions) { o.Before = &at }, "expr": func(o *TTLOptions) { o.Timestamp = &TTLQuery{Text: ".x"} }, "where": func(o *TTLOptions) { o.Where = &TTLQuery{Text: ".x"} },
		"prefix": func(o *TTLOptions) { o.Prefix = "p" }, "keys": func(o *TTLOptions) { o.Keys, o.KeysWhy = lines(""), "f" }, "max": func(o *TTLOptions) { o.MaxRows = 1 }, "unknown": func(o *TTLOptions) { o.DeleteUnknown = true },
	} {
		o := base()
		change(&o)
		r := o.Request()
		if other, ok := seen[r]; ok {
			t.Errorf("%s and %s are both %q", name, other, r)
		}
		seen[r] = name
		if strings.ContainsAny(r, "\n\t") {
			t.Errorf("%q", r)
		}
	}
	if len(seen) != 14 {
		t.Error(slices.Collect(maps.Values(seen)))
	}
}
