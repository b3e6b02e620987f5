package migrate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
)

func startKafka(t testing.TB, o kafkatest.Options) *kafkatest.Cluster {
	t.Helper()
	k, err := kafkatest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func openKafka(t testing.TB, k *kafkatest.Cluster, properties ...string) *kafka.Client {
	t.Helper()
	p := kafka.Properties{}
	for i := 0; i+1 < len(properties); i += 2 {
		p[properties[i]] = properties[i+1]
	}
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: k.Addrs(), Properties: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCheckIdle(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	if err := k.Topic("t", 1); err != nil {
		t.Fatal(err)
	}
	if err := k.ProduceAll(t.Context(), "t", kafkatest.Record{Key: []byte("k")}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := checkIdle(ctx, c, "app"); err != nil {
		t.Error("there is no group:", err)
	}
	for _, protocol := range []string{"classic", "consumer"} {
		leave, err := k.Join(ctx, "app", "t", protocol)
		if err != nil {
			t.Fatal(err)
		}
		optest.WantKind(t, checkIdle(ctx, c, "app"), op.Precondition, `"app"`, "1 members", "--wait")
		optest.WantKind(t, waitIdle(ctx, c, "app", 600*time.Millisecond, nil), op.Precondition, "1 members")
		phases := 0
		waits := make(chan struct{}, 10)
		done := make(chan error)
		go func() {
			done <- waitIdle(ctx, c, "app", time.Minute, func(e op.Event) {
				if e.Type == op.Phase {
					phases++
					waits <- struct{}{}
				}
			})
		}()
		<-waits
		time.Sleep(700 * time.Millisecond) // for one that is too many
		leave()
		if err := <-done; err != nil || phases != 1 {
			t.Error(err, phases)
		}
		if err := checkIdle(ctx, c, "app"); err != nil {
			t.Error("nobody is in the group:", err)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := waitIdle(stopped, c, "app", time.Minute, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Who may not see the group does not know that it is idle.
func TestCheckIdleDenied(t *testing.T) {
	k := startKafka(t, kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}},
		Extra: kafkatest.DescribeOnly("bob", "b", "app-s-changelog")})
	if err := k.Topic("app-s-changelog", 1, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	c := openKafka(t, k, "security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", "PLAIN", "sasl.jaas.config", `x.PlainLoginModule required username="bob" password="b";`)
	start := time.Now()
	for _, err := range []error{checkIdle(t.Context(), c, "app"), waitIdle(t.Context(), c, "app", time.Hour, nil)} {
		optest.WantKind(t, err, op.Precondition, `"app" must be stopped`, "cannot be seen", "DESCRIBE on Group:app", "kafka-acls.sh")
	}
	if time.Since(start) > time.Minute {
		t.Error("it waited for what does not change")
	}
	optest.WantKind(t, checkWritable(t.Context(), c, "app-s-changelog"), op.Precondition, "may not write", "WRITE on Topic:app-s-changelog")
	if _, err := checkChangelog(t.Context(), c, "app", "app-s-changelog"); err != nil {
		t.Error(err)
	}
}

func TestCheckChangelog(t *testing.T) {
	k := startKafka(t, kafkatest.Options{ClusterID: "here"})
	c := openKafka(t, k)
	ctx := t.Context()
	for name, policy := range map[string]string{"app-s-changelog": "compact", "app-both-changelog": "compact,delete", "app-w-changelog": "delete", "orders": "compact", "app-x-repartition": "compact"} {
		if err := k.Topic(name, 2, "cleanup.policy", policy); err != nil {
			t.Fatal(err)
		}
	}
	optest.WantKind(t, checkCluster(ctx, c, "there"), op.Precondition, `"here"`, `"there"`)
	for _, id := range []string{"", "here"} {
		if err := checkCluster(ctx, c, id); err != nil {
			t.Error(err)
		}
	}
	for _, topic := range []string{"app-s-changelog", "app-both-changelog"} {
		f, err := checkChangelog(ctx, c, "app", topic)
		if err != nil || len(f.Ends()) != 2 || f.ID() == "" || f.Config["cleanup.policy"] == "" {
			t.Fatal(f, err)
		}
		if err := checkEnds(ctx, c, topic, f.Ends()); err != nil {
			t.Error(err)
		}
		if err := checkWritable(ctx, c, topic); err != nil {
			t.Error(err)
		}
	}
	for topic, want := range map[string]string{
		"orders": "not a changelog of application", "app-x-repartition": "not a changelog of application", "app-w-changelog": "cleanup.policy=delete",
	} {
		_, err := checkChangelog(ctx, c, "app", topic)
		optest.WantKind(t, err, op.Precondition, topic, want)
	}
	_, err := checkChangelog(ctx, c, "other", "app-s-changelog")
	optest.WantKind(t, err, op.Precondition, "not a changelog of application")
	_, err = checkChangelog(ctx, c, "app", "app-gone-changelog")
	optest.WantKind(t, err, op.NotFound, "app-gone-changelog")

	f, err := checkChangelog(ctx, c, "app", "app-s-changelog")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.ProduceAll(ctx, "app-s-changelog", kafkatest.Record{Partition: 1, Key: []byte("k")}); err != nil {
		t.Fatal(err)
	}
	optest.WantKind(t, checkEnds(ctx, c, "app-s-changelog", f.Ends()), op.Precondition, "app-s-changelog-1 ends at 1, not at 0")
	optest.WantKind(t, checkEnds(ctx, c, "app-s-changelog", map[int32]int64{0: 0}), op.Precondition, "has 2 partitions, it had 1")
	end, err := k.Begin(ctx, "app-s-changelog", kafkatest.Record{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = checkChangelog(ctx, c, "app", "app-s-changelog")
	optest.WantKind(t, err, op.Precondition, "app-s-changelog-0 has an open transaction")
	optest.WantKind(t, checkEnds(ctx, c, "app-s-changelog", f.Ends()), op.Precondition, "app-s-changelog-0 has an open transaction")
	if err := end(false); err != nil {
		t.Fatal(err)
	}
	if _, err := checkChangelog(ctx, c, "app", "app-s-changelog"); err != nil {
		t.Error(err)
	}
}

func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "ledger.json")
	type state struct{ N int }
	l, found, err := openLedger[state](path)
	if err != nil || found {
		t.Fatal(found, err)
	}
	if _, _, err := openLedger[state](path); op.KindOf(err) != op.InUse {
		t.Error("held twice:", err)
	}
	l.State.N = 7
	if err := l.save(); err != nil {
		t.Fatal(err)
	}
	l.close()
	l.close()
	if _, err := os.Stat(path + ".lock"); err == nil {
		t.Error("the lock file is left")
	}
	if l, found, err = openLedger[state](path); err != nil || !found || l.State.N != 7 {
		t.Fatal(l, found, err)
	}
	if err := os.WriteFile(path+".tmp", []byte("{"), 0o600); err != nil { // killed while it was written
		t.Fatal(err)
	}
	if err := errors.Join(l.remove(), l.remove()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + ".tmp"); len(left) > 0 {
		t.Error("left behind:", left)
	}
	l.close()
	if l, found, err = openLedger[state](path); err != nil || found || l.State.N != 0 {
		t.Fatal(l, found, err)
	}
	l.close()
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = openLedger[state](path)
	optest.WantKind(t, err, op.Corrupt, path)
	_, _, err = openLedger[state](path) // the lock was let go
	optest.WantKind(t, err, op.Corrupt, path)
}
