package migrate

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
)

// TestRenameResolves looks names up as Kafka Streams makes them.
func TestRenameResolves(t *testing.T) {
	w := newWorld(t)
	for _, topic := range []string{
		"counts-changelog", "counts-repartition", "counts-store-changelog", // a store, its repartition topic, and another store
		"j-this-join-store-changelog", "j-other-join-store-changelog", "j-left-shared-join-store-changelog", "j-left-repartition",
		"KSTREAM-JOINTHIS-0000000016-store-changelog", "KSTREAM-OUTEROTHER-0000000017-store-changelog", "KSTREAM-OUTERSHARED-0000000016-store-changelog",
		"fk-subscription-store-changelog", "fk-subscription-registration-topic", "fk-subscription-response-topic",
		"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010-changelog", "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
		"late-store-changelog",
	} {
		if err := w.Topic("app-"+topic, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		old, new, want string
		only           bool
	}{
		{"counts", "sums", "counts>sums app-counts-repartition>app-sums-repartition", false},
		{"counts", "sums", "counts>sums", true},
		{"j", "x", "j-this-join-store>x-this-join-store j-other-join-store>x-other-join-store j-left-shared-join-store>x-left-shared-join-store app-j-left-repartition>app-x-left-repartition", false},
		{"j-other-join-store", "x-other-join-store", "j-other-join-store>x-other-join-store j-this-join-store>x-this-join-store j-left-shared-join-store>x-left-shared-join-store app-j-left-repartition>app-x-left-repartition", false},
		{"KSTREAM-JOINTHIS-0000000016-store", "x-this-join-store", "KSTREAM-JOINTHIS-0000000016-store>x-this-join-store KSTREAM-OUTEROTHER-0000000017-store>x-outer-other-join-store KSTREAM-OUTERSHARED-0000000016-store>x-left-shared-join-store", false},
		{"fk", "ref", "fk-subscription-store>ref-subscription-store app-fk-subscription-registration-topic>app-ref-subscription-registration-topic app-fk-subscription-response-topic>app-ref-subscription-response-topic", false},
		{"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010", "ref-subscription-store", "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010>ref-subscription-store app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic>app-ref-subscription-registration-topic app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic>app-ref-subscription-response-topic", false},
		{"late", "early", "late-store>early-store", false},
	} {
		moves, topics, err := ResolveRename(t.Context(), w.client, RenameOptions{ApplicationID: app, Names: []NamePair{{c.old, c.new}}, Only: c.only})
		var got []string
		for _, m := range moves {
			got = append(got, m.OldStore+">"+m.NewStore)
		}
		for _, x := range topics {
			got = append(got, x.Old+">"+x.New)
		}
		if s := strings.Join(got, " "); err != nil || s != c.want {
			t.Errorf("%s → %s: %s\nwant %s (%v)", c.old, c.new, s, c.want, err)
		}
	}
	if _, _, err := ResolveRename(t.Context(), w.client, RenameOptions{ApplicationID: app, Names: []NamePair{{"j-left", "x"}}, Only: true}); op.KindOf(err) != op.NotFound {
		t.Errorf("only an operator of that name: %v", err)
	}
}

// TestRenameRefuses: all that speaks against a rename is found before anything
// is made, by the plan or by the look before it is applied.
func TestRenameRefuses(t *testing.T) {
	w := newWorld(t)
	w.fill(t, "app-st-changelog", 2, 300, 5)
	wants := func(err error, text string) {
		t.Helper()
		if op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), text) {
			t.Fatalf("%v, want %q", err, text)
		}
		if _, err := w.client.Topic(t.Context(), "app-new-changelog"); op.KindOf(err) != op.NotFound {
			t.Fatalf("the topic was made: %v", err)
		}
	}
	rename := NamePair{"st", "new"}
	_, err := w.plan(t, t.TempDir(), MigrationOptions{ClusterID: "another"}, rename)
	wants(err, "another")

	end, err := w.Begin(t.Context(), "app-st-changelog", kafkatest.Record{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.plan(t, t.TempDir(), MigrationOptions{}, rename)
	wants(err, "open transaction")
	if err := end(true); err != nil {
		t.Fatal(err)
	}

	// A source topic serves as changelog: it belongs to somebody else.
	if err := w.Topic("users", 2); err != nil {
		t.Fatal(err)
	}
	_, err = PlanMigration(t.Context(), w.client, MigrationOptions{Kind: Rename, OldApp: app, NewApp: app, LedgerDir: t.TempDir(),
		Moves: []StoreMove{{OldApp: app, NewApp: app, OldStore: "users", NewStore: "people", OldTopic: "users", NewTopic: "people"}}}, nil)
	wants(err, "belongs to you")

	stateDir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(stateDir, app, "0_1", "rocksdb", "users"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stateDir, app, "0_1", "rocksdb", "users", "CURRENT"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = ResolveRename(t.Context(), w.client, RenameOptions{ApplicationID: app, Names: []NamePair{{"users", "new"}}, StateDir: stateDir})
	wants(err, "its name does not tell")
	if try := strings.Join(op.Tries(err), " "); !strings.Contains(try, "keep its name") || !strings.Contains(try, "migrate topology") {
		t.Errorf("advice: %q", try)
	}

	// Records come between the plan and its application.
	p, err := w.plan(t, t.TempDir(), MigrationOptions{}, rename)
	if err != nil {
		t.Fatal(err)
	}
	w.more(t, "app-st-changelog", 2, 10, 6)
	_, err = p.Apply(t.Context(), nil)
	wants(err, "ends at")

	// '.' and '_' are the same to a broker.
	if err := w.Topic("app-new_x-changelog", 1); err != nil {
		t.Fatal(err)
	}
	_, err = w.plan(t, t.TempDir(), MigrationOptions{}, NamePair{"st", "new.x"})
	wants(err, "cannot be created beside")

	leave, err := w.Join(t.Context(), app, "app-st-changelog", "classic")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.plan(t, t.TempDir(), MigrationOptions{}, rename)
	wants(err, "must be stopped")
	leave()
}

// TestRenameRepartition: records that wait in a repartition topic are refused,
// or copied with the group's offsets mapped.
func TestRenameRepartition(t *testing.T) {
	w := newWorld(t)
	const old, new = "app-st-repartition", "app-new-repartition"
	w.fill(t, "app-st-changelog", 2, 100, 5)
	w.fill(t, old, 2, 400, 8)
	_, at := w.records(t, old)
	done := map[int32]int64{0: at[0][50], 1: at[1][len(at[1])-1] + 1}
	if err := w.Commit(t.Context(), app, old, done); err != nil {
		t.Fatal(err)
	}
	rename := NamePair{"st", "new"}
	if _, err := w.plan(t, t.TempDir(), MigrationOptions{}, rename); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "has not processed") {
		t.Fatalf("%v", err)
	}
	p, err := w.plan(t, t.TempDir(), MigrationOptions{WithRepartition: true}, rename)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.wantCopy(t, p.m, old, new)
	got, err := w.client.CommittedOffsets(t.Context(), app, new)
	if want := map[int32]int64{0: 50, 1: int64(len(at[1]))}; err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("committed for the copy: %v, want %v: %v", got, want, err)
	}
	if got, err := w.client.CommittedOffsets(t.Context(), app, old); err != nil || !reflect.DeepEqual(got, done) {
		t.Fatalf("committed for the old topic: %v, was %v: %v", got, done, err)
	}

	// All processed: the application makes the new topic itself.
	w.fill(t, "app-ab-changelog", 2, 100, 5)
	w.fill(t, "app-ab-repartition", 2, 400, 8)
	_, at = w.records(t, "app-ab-repartition")
	if err := w.Commit(t.Context(), app, "app-ab-repartition", map[int32]int64{0: at[0][len(at[0])-1] + 1, 1: at[1][len(at[1])-1] + 1}); err != nil {
		t.Fatal(err)
	}
	if p, err = w.plan(t, t.TempDir(), MigrationOptions{}, NamePair{"ab", "cd"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Topic(t.Context(), "app-cd-repartition"); op.KindOf(err) != op.NotFound {
		t.Fatalf("the drained topic was copied: %v", err)
	}
}

// TestFinishAndAbort: what is not proven stays, what is in use is not undone,
// and both leave everything else alone.
func TestFinishAndAbort(t *testing.T) {
	w := newWorld(t)
	for _, s := range []string{"a", "b"} {
		w.fill(t, "app-"+s+"-changelog", 1, 50, 1)
	}
	p, err := w.plan(t, t.TempDir(), MigrationOptions{}, NamePair{"a", "x"}, NamePair{"b", "y"})
	if err != nil {
		t.Fatal(err)
	}
	exists := func(topic string) bool {
		_, err := w.client.Topic(t.Context(), topic)
		return err == nil
	}
	o := EndOptions{File: p.File}
	if _, err := PlanFinish(t.Context(), w.client, o); op.KindOf(err) != op.NotFound {
		t.Fatalf("finish before it: %v", err)
	}
	if _, err := p.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := PlanFinish(t.Context(), w.client, o); op.KindOf(err) != op.Precondition {
		t.Fatalf("finish without proof: %v", err)
	}
	// One of the two is written to: its old topic goes, the other one stays.
	if err := w.ProduceAll(t.Context(), "app-x-changelog", kafkatest.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	e, err := PlanFinish(t.Context(), w.client, o)
	if err != nil || len(e.Topics) != 1 || e.Topics[0].Name != "app-a-changelog" || len(e.Kept) != 1 {
		t.Fatalf("%+v %v", e, err)
	}
	if e, err = e.Apply(t.Context(), nil); err != nil || e.Done || exists("app-a-changelog") || !exists("app-b-changelog") {
		t.Fatalf("%+v %v", e, err)
	}
	if _, err := PlanAbort(t.Context(), w.client, o); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "uses it") {
		t.Fatalf("abort of what is in use: %v", err)
	}
	// The old name is written to: then nobody knows which state is right.
	if err := w.ProduceAll(t.Context(), "app-b-changelog", kafkatest.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	if _, err := PlanFinish(t.Context(), w.client, o); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "under the old name") {
		t.Fatalf("finish after the old name was used: %v", err)
	}

	w.fill(t, "app-c-changelog", 1, 50, 1)
	if p, err = w.plan(t, t.TempDir(), MigrationOptions{}, NamePair{"c", "z"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	e, err = PlanAbort(t.Context(), w.client, EndOptions{File: p.File})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(t.Context(), nil); err != nil || exists("app-z-changelog") || !exists("app-c-changelog") {
		t.Fatal(err)
	}
}
