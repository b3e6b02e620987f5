//go:build cgo

package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
	"sstool/internal/worldtest"
)

// realHealth is a real application on a real broker: with everything given and
// all as it should be, nothing is found; then its topics are spoilt one by one,
// and a transaction hangs until the very command that is printed ends it.
func realHealth(t *testing.T, s *worldtest.Shared, client *kafka.Client) {
	b, h := s.Broker, s.Streams(worldtest.Newest)
	cache, err := os.UserCacheDir() // a temporary directory would be a finding
	if err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(cache, "sstool", "doctor-"+strconv.Itoa(os.Getpid()))
	if why := inspect.Temporary(dir); why != "" {
		t.Skipf("%s lies %s", dir, why)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := worldtest.ProfileNamed("win").App("shop-health", b.Bootstrap, dir, true)
	if _, err := h.Build(t.Context(), a, worldtest.Input{Records: 500}); err != nil {
		t.Fatal(err)
	}
	described, err := h.Describe(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	model, err := topology.ParseText(described, topology.Options{ApplicationID: a.ID})
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{"application.id": a.ID, "state.dir": dir, "processing.guarantee": "exactly_once_v2", "num.standby.replicas": "1",
		"application.server": "node-1:8080", "metric.reporters": "io.example.Reporter", "replication.factor": "1"}
	look := func(only ...string) *Result {
		return run(t, Options{AppID: a.ID, Path: dir, Client: client, Topology: &model.Topologies[0], Config: NewAppConfig("x.properties", settings),
			Kafka: streams.NewestTarget, Only: only})
	}
	all := look()
	if list := found(all); len(list) > 0 {
		t.Errorf("a healthy application:\n%s", text(list))
	}
	t.Logf("%+v", all.Count)
	// Nobody says how it runs: its producers have.
	if r := run(t, Options{AppID: a.ID, Path: dir, Client: client, Only: []string{"restart.next"}}); r.Guarantee != "exactly_once_v2" || r.GuaranteeWhy == "" {
		t.Errorf("the guarantee: %q (%s)", r.Guarantee, r.GuaranteeWhy)
	}

	topic := a.ID + "-win-cnt-changelog"
	for _, spoil := range []struct {
		config map[string]string
		check  string
		status op.Status
		says   string
	}{
		{map[string]string{"cleanup.policy": "compact"}, "changelogs.configuration", op.Wrong, "windows never expire"},
		{map[string]string{"message.timestamp.type": "LogAppendTime"}, "changelogs.configuration", op.Wrong, "CreateTime"},
		{map[string]string{"retention.bytes": "1000000"}, "changelogs.configuration", op.Wrong, "rows are missing"},
		{map[string]string{"retention.ms": "60000"}, "changelogs.configuration", op.Wrong, "less than the store keeps"},
		{map[string]string{"min.insync.replicas": "2"}, "changelogs.replicas", op.Wrong, "acks=all"},
		{map[string]string{"min.cleanable.dirty.ratio": "0.99"}, "changelogs.compaction", op.Attention, "nearly all of it is new"},
	} {
		if err := worldtest.SetTopicConfig(t.Context(), b.Bootstrap, topic, spoil.config); err != nil {
			t.Fatal(err)
		}
		want(t, look(spoil.check), spoil.check, spoil.status, topic, spoil.says)
		for name := range spoil.config {
			back := map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "86760000"}
			if err := worldtest.SetTopicConfig(t.Context(), b.Bootstrap, topic, map[string]string{name: back[name]}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list := found(look("changelogs.configuration", "changelogs.replicas", "changelogs.compaction")); len(list) > 0 {
		t.Errorf("mended:\n%s", text(list))
	}
	hanging(t, b, topic, client, look)
}

// hanging leaves a transaction open, and ends it with the printed command.
func hanging(t *testing.T, b *worldtest.Broker, topic string, client *kafka.Client, look func(...string) *Result) {
	txn, err := worldtest.BeginTxn(t.Context(), b.Bootstrap, topic, worldtest.Record{Partition: 1, Key: []byte("k"), Value: []byte("v")})
	if err != nil {
		t.Fatal(err)
	}
	txn.Abandon()
	gap := func() int64 {
		at, err := client.Offsets(t.Context(), topic, []int32{1})
		if err != nil {
			t.Fatal(err)
		}
		return at[1].End - at[1].LastStable
	}
	if gap() == 0 {
		t.Fatal("the transaction is not open")
	}
	want(t, look("changelogs.transactions"), "changelogs.transactions", op.OK) // it is young
	r := run(t, Options{AppID: "shop-health", Client: client, Only: []string{"changelogs.transactions"}, Now: time.Now().Add(2 * longestTransaction)})
	want(t, r, "changelogs.transactions", op.Wrong, "hangs", "transactional.id", "abort --topic "+topic+" --partition 1")
	remedy := of(r, "changelogs.transactions")[0].Remedy
	command := strings.Fields(remedy[len(remedy)-1])
	out, err := b.Tool(t.Context(), "TransactionsCommand", command[1:]...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", remedy, err, out)
	}
	if g := gap(); g != 0 {
		t.Errorf("after %s: %d offsets are undecided still\n%s", command, g, out)
	}
	want(t, look("changelogs.transactions"), "changelogs.transactions", op.OK, "stable to its end")
}
