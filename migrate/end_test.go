package migrate

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/worldtest"
)

// rename plans a rename and applies it.
func (w *world) rename(t *testing.T, o MigrationOptions, names ...NamePair) *MigrationPlan {
	t.Helper()
	p, err := w.plan(t, t.TempDir(), o, names...)
	if err == nil {
		_, err = p.Apply(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const oldACLs, newACLs = "app-a-changelog", "app-x-changelog"

func TestACLs(t *testing.T) {
	k, err := kafkatest.Start(kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}}, Extra: kafkatest.AccessControl()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: k.Addrs(), Properties: kafka.Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
		"sasl.jaas.config": `x.PlainLoginModule required username="root" password="r";`}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &world{k, c}
	w.fill(t, oldACLs, 1, 50, 1)
	copiesACLs(t, c)
}

// TestACLsReal is the same with Kafka's own authorizer, which knows rules for
// the beginnings of names as well.
func TestACLsReal(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartSecureBroker(t, worldtest.Options{})
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := worldtest.Generate(t.Context(), b.Bootstrap, worldtest.GenOptions{Topic: oldACLs, Records: 100}); err != nil {
		t.Fatal(err)
	}
	prefix := kafka.ACL{Topic: "app-", Prefixed: true, Principal: "User:ops", Host: "*", Operation: "READ", Permission: "ALLOW"}
	if err := c.CreateACLs(t.Context(), []kafka.ACL{prefix}); err != nil {
		t.Fatal(err)
	}
	copiesACLs(t, c)
}

// With --with-acls the copy gets the rules of the old topic; abort removes
// those that the migration made, and no others, also when it was killed after
// it had made them.
func copiesACLs(t *testing.T, c *kafka.Client) {
	const old, new = oldACLs, newACLs
	w := &world{client: c}
	rule := func(topic, principal, operation string) kafka.ACL {
		return kafka.ACL{Topic: topic, Principal: principal, Host: "*", Operation: operation, Permission: "ALLOW"}
	}
	deny := rule(old, "User:eve", "READ")
	deny.Permission = "DENY"
	mine := rule(new, "User:app", "READ") // was there before, for whatever reason
	if err := c.CreateACLs(t.Context(), []kafka.ACL{rule(old, "User:app", "READ"), rule(old, "User:app", "WRITE"), deny, mine}); err != nil {
		t.Fatal(err)
	}
	acls := func(topic string) (out []string) {
		all, err := c.TopicACLs(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if a.Topic == topic {
				out = append(out, a.String())
			} else if a.Topic != "*" && !a.Prefixed {
				t.Errorf("%s has %s", topic, a)
			}
		}
		slices.Sort(out)
		return out
	}
	// The controller answers before the broker that is asked has the change.
	settled := func(topic string, want []string) (got []string) {
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			if got = acls(topic); slices.Equal(got, want) || time.Now().After(end) {
				return got
			}
		}
	}
	was, wasOld := settled(new, []string{mine.String()}), settled(old, []string{rule(old, "User:app", "READ").String(), rule(old, "User:app", "WRITE").String(), deny.String()})
	for _, killed := range []bool{false, true} {
		p, err := w.plan(t, t.TempDir(), MigrationOptions{WithACLs: true}, NamePair{"a", "x"})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Topics[0].ACLs) != 3 {
			t.Fatalf("the plan lists %q", p.Topics[0].ACLs)
		}
		if killed {
			i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == "acls:"+new })
			do := p.Steps[i].Do
			p.Steps[i].Do = func(ctx context.Context, m *Migration, sink op.Sink) error {
				return errors.Join(do(ctx, m, sink), errCrash)
			}
		}
		if _, err := p.Apply(t.Context(), nil); err != nil && !killed {
			t.Fatal(err)
		}
		want := []string{deny.String(), rule(old, "User:app", "READ").String(), rule(old, "User:app", "WRITE").String()}
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], old, new)
		}
		slices.Sort(want)
		if got := settled(new, want); !slices.Equal(got, want) {
			t.Errorf("the copy has %q, want %q", got, want)
		}
		e, err := PlanAbort(t.Context(), c, EndOptions{File: p.File})
		if err != nil || len(e.ACLs) != 2 {
			t.Fatalf("abort would delete %q, %v", e.ACLs, err)
		}
		if _, err := e.Apply(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := settled(new, was); !slices.Equal(got, was) {
			t.Errorf("after abort the new name has %q, it had %q", got, was)
		}
		if got := acls(old); !slices.Equal(got, wasOld) {
			t.Errorf("the old topic has %q, it had %q", got, wasOld)
		}
	}
}

// A copy that the application never writes to is never proven: who knows that it
// is in use names the old topic, and nothing else.
func TestFinishNamed(t *testing.T) {
	w := newWorld(t)
	w.fill(t, "app-a-changelog", 1, 50, 1)
	p := w.rename(t, MigrationOptions{}, NamePair{"a", "x"})
	for _, name := range []string{"app-x-changelog", "app-other-changelog"} {
		if _, err := PlanFinish(t.Context(), w.client, EndOptions{File: p.File, InUse: []string{name}}); op.KindOf(err) != op.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := EndOptions{File: p.File, InUse: []string{"app-a-changelog"}}
	e, err := PlanFinish(t.Context(), w.client, o)
	if err != nil || len(e.Topics) != 1 || len(e.Kept) != 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	// Naming it proves nothing against facts.
	if err := w.ProduceAll(t.Context(), "app-a-changelog", kafkatest.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	if _, err := PlanFinish(t.Context(), w.client, o); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "under the old name") {
		t.Errorf("finish after the old name was used: %v", err)
	}
	// And whoever runs the same command again is told not to start the new version.
	_, err = w.plan(t, filepath.Dir(p.File), MigrationOptions{}, NamePair{"a", "x"})
	if op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "under the old name since") {
		t.Errorf("again: %v", err)
	}
}

// The copy is all there is when the old topic is gone: without it nothing old
// goes.
func TestFinishWithoutCopy(t *testing.T) {
	w := newWorld(t)
	w.fill(t, "app-a-changelog", 1, 50, 1)
	p := w.rename(t, MigrationOptions{}, NamePair{"a", "x"})
	if err := w.client.DeleteTopics(t.Context(), "app-a-changelog", "app-x-changelog"); err != nil {
		t.Fatal(err)
	}
	if _, err := PlanFinish(t.Context(), w.client, EndOptions{File: p.File}); op.KindOf(err) != op.Precondition {
		t.Errorf("%v", err)
	}
}

// An application under its new id proves by its group that it runs, and the
// committed offsets of the old one go with its topics.
func TestFinishApplication(t *testing.T) {
	for _, proof := range []string{"members", "offsets"} {
		w := newWorld(t)
		ctx := t.Context()
		w.fill(t, "app-a-changelog", 1, 50, 1)
		if err := w.Topic("in", 1); err != nil {
			t.Fatal(err)
		}
		if err := w.ProduceAll(ctx, "in", kafkatest.Record{Value: []byte("x")}, kafkatest.Record{Value: []byte("y")}); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(ctx, app, "in", map[int32]int64{0: 1}); err != nil {
			t.Fatal(err)
		}
		r, err := ResolveApplication(ctx, w.client, ApplicationOptions{Old: app, New: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		group, err := GroupStep(ctx, w.client, app, "shop")
		if err != nil {
			t.Fatal(err)
		}
		p, err := PlanMigration(ctx, w.client, MigrationOptions{Kind: ApplicationChanged, OldApp: app, NewApp: "shop", Moves: r.Moves, Topics: r.Topics,
			WithRepartition: true, LedgerDir: t.TempDir(), Extra: []Step{group}}, nil)
		if err == nil {
			_, err = p.Apply(ctx, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := EndOptions{File: p.File}
		if _, err := PlanFinish(ctx, w.client, o); op.KindOf(err) != op.Precondition {
			t.Fatalf("nothing is proven: %v", err)
		}
		if proof == "members" {
			leave, err := w.Join(ctx, "shop", "in", "stream")
			if err != nil {
				t.Fatal(err)
			}
			defer leave()
		} else if err := w.Commit(ctx, "shop", "in", map[int32]int64{0: 2}); err != nil {
			t.Fatal(err)
		}
		e, err := PlanFinish(ctx, w.client, o)
		if err != nil || len(e.Topics) != 1 || len(e.Groups) != 1 || e.Groups[0].Name != app {
			t.Fatalf("%s: %+v, %v", proof, e, err)
		}
		if e, err = e.Apply(ctx, nil); err != nil || !e.Done {
			t.Fatalf("%s: %+v, %v", proof, e, err)
		}
		if left, err := w.client.GroupOffsets(ctx, app); err != nil || len(left) != 0 {
			t.Errorf("%s: the old group has %v, %v", proof, left, err)
		}
		if kept, err := w.client.GroupOffsets(ctx, "shop"); err != nil || len(kept) != 1 {
			t.Errorf("%s: the new group has %v, %v", proof, kept, err)
		}
	}
}

// What was ended without a state directory has its directories removed by the
// same command with one.
func TestEndsDirectoriesLater(t *testing.T) {
	w := newWorld(t)
	w.fill(t, "app-a-changelog", 1, 50, 1)
	p := w.rename(t, MigrationOptions{}, NamePair{"a", "x"})
	e, err := PlanFinish(t.Context(), w.client, EndOptions{File: p.File, InUse: []string{"app-a-changelog"}})
	if err == nil {
		_, err = e.Apply(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	later := EndOptions{File: p.File, Clone: &oneDirectory{}}
	if e, err = PlanFinish(t.Context(), w.client, later); err != nil || e.Done || !reflect.DeepEqual(e.Directories, []string{"old"}) {
		t.Errorf("%+v, %v", e, err)
	}

	w.fill(t, "app-b-changelog", 1, 50, 1)
	p = w.rename(t, MigrationOptions{}, NamePair{"b", "y"})
	if e, err = PlanAbort(t.Context(), w.client, EndOptions{File: p.File}); err == nil {
		_, err = e.Apply(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	later.File = p.File
	if e, err = PlanAbort(t.Context(), w.client, later); err != nil || e.Done || !reflect.DeepEqual(e.Directories, []string{"new"}) {
		t.Errorf("%+v, %v", e, err)
	}
}

// A migration of directories alone has no topic that proves anything: an old
// directory goes when its clone was opened, or is named.
func TestFinishDirectories(t *testing.T) {
	w := newWorld(t)
	w.fill(t, "app-a-changelog", 1, 50, 1)
	zero, one := 0, 1
	move := StoreMove{OldApp: app, NewApp: app, OldStore: "a", NewStore: "a", OldSub: &zero, NewSub: &one, OldTopic: "app-a-changelog", NewTopic: "app-a-changelog"}
	host := &oneDirectory{}
	p, err := PlanMigration(t.Context(), w.client, MigrationOptions{Kind: TopologyMigration, OldApp: app, NewApp: app, Moves: []StoreMove{move}, LedgerDir: t.TempDir(), Clone: host}, nil)
	if err == nil {
		_, err = p.Apply(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PlanFinish(t.Context(), w.client, EndOptions{File: p.File, Clone: host}); op.KindOf(err) != op.Precondition {
		t.Errorf("nothing is proven: %v", err)
	}
	if e, err := PlanFinish(t.Context(), w.client, EndOptions{File: p.File, Clone: host, InUse: []string{"old"}}); err != nil || len(e.Directories) != 1 {
		t.Errorf("named: %+v, %v", e, err)
	}
	host.used = true
	e, err := PlanFinish(t.Context(), w.client, EndOptions{File: p.File, Clone: host})
	if err != nil || len(e.Directories) != 1 {
		t.Errorf("used: %+v, %v", e, err)
	}
}

// oneDirectory is a host with one clone.
type oneDirectory struct {
	Cloner
	used bool
}

func (*oneDirectory) Plan(context.Context, *Migration) (*ClonePlan, error) { return &ClonePlan{}, nil }
func (*oneDirectory) Apply(context.Context, *Migration, op.Sink) error     { return nil }

func (*oneDirectory) UndoList(context.Context, *Migration) ([]string, error) {
	return []string{"new"}, nil
}

func (o *oneDirectory) FinishList(context.Context, *Migration) ([]OldDirectory, error) {
	return []OldDirectory{{Path: "old", Used: o.used}}, nil
}

// A migration file that somebody has changed makes nothing go but internal
// topics of its applications.
func TestMigrationFileNamesInternalTopics(t *testing.T) {
	const file = `{"format":1,"migration":"rename","id":"m","old_application_id":"app","new_application_id":"app","topics":[{"old":"OLD","new":"NEW"}]}`
	for _, c := range []struct {
		old, new string
		ok       bool
	}{{"app-a-changelog", "app-b-changelog", true}, {"users", "app-b-changelog", false}, {"app-a-changelog", "other-b-changelog", false}} {
		_, err := ParseMigration([]byte(strings.NewReplacer("OLD", c.old, "NEW", c.new).Replace(file)))
		if (err == nil) != c.ok {
			t.Errorf("%s, %s: %v", c.old, c.new, err)
		}
	}
	if _, err := ReadMigration(t.TempDir()); op.KindOf(err) != op.Usage {
		t.Errorf("a directory: %v", err)
	}
}
