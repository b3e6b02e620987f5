package migrate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
)

// Topics are an application's own by their names; what another application could
// have just as well is left out and said, or taken exactly by the topology.
func TestResolveApplication(t *testing.T) {
	cluster, err := kafkatest.Start(kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	for _, topic := range []string{"orders-a-changelog", "orders-x-repartition", "orders-fk-subscription-registration-topic",
		"orders-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000011-topic", "orders-eu-b-changelog", "orders-in", "other-a-changelog"} {
		if err := cluster.Topic(topic, 1); err != nil {
			t.Fatal(err)
		}
	}
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: cluster.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o := ApplicationOptions{Old: "orders", New: "shop"}
	names := func(a *ApplicationMoves) (out []string) {
		for _, m := range a.Moves {
			out = append(out, m.OldStore+" "+m.NewTopic)
		}
		for _, x := range a.Topics {
			out = append(out, string(x.Why)+" "+x.New)
		}
		slices.Sort(out)
		return out
	}
	want := []string{"a shop-a-changelog", "eu-b shop-eu-b-changelog", "fk-registration shop-fk-subscription-registration-topic",
		"fk-response shop-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000011-topic", "repartition shop-x-repartition"}
	got, err := ResolveApplication(t.Context(), c, o)
	if err != nil || !slices.Equal(names(got), want) || len(got.Warnings) != 0 {
		t.Fatalf("%v, %+v, %v", err, names(got), got)
	}
	// There is an application orders-eu: that changelog is taken for its own.
	if err := c.CommitGroupOffsets(t.Context(), "orders-eu", []kafka.GroupOffset{{Topic: "orders-in", Offset: 1, LeaderEpoch: -1}}); err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(s string) bool { return strings.HasPrefix(s, "eu-b") })
	if got, err = ResolveApplication(t.Context(), c, o); err != nil || !slices.Equal(names(got), want) || len(got.Warnings) != 1 {
		t.Errorf("%v, %+v, %v", err, names(got), got)
	}
	o.Topics = []string{"orders-a-changelog", "orders-eu-b-changelog", "orders-gone-changelog"}
	if got, err = ResolveApplication(t.Context(), c, o); err != nil || len(got.Moves) != 2 || len(got.Topics) != 0 {
		t.Errorf("by the topology: %v, %+v", err, got)
	}
	// What an earlier run has copied is not the old application's, whatever the new id.
	o = ApplicationOptions{Old: "other", New: "other-v2"}
	for _, topic := range []string{"other-v2-a-changelog", "other-v2-own-changelog"} {
		if err := cluster.Topic(topic, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = ResolveApplication(t.Context(), c, o); err != nil || !slices.Equal(names(got), []string{"a other-v2-a-changelog", "v2-own other-v2-v2-own-changelog"}) {
		t.Errorf("again: %v, %+v", err, names(got))
	}
	for _, o := range []ApplicationOptions{{Old: "orders", New: "orders"}, {Old: "or/ders", New: "x"}, {Old: "orders", New: ""}} {
		if _, err := ResolveApplication(t.Context(), c, o); op.KindOf(err) != op.Usage {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := ResolveApplication(t.Context(), c, ApplicationOptions{Old: "nobody", New: "x"}); op.KindOf(err) != op.NotFound {
		t.Errorf("no topics: %v", err)
	}
}

// Committed offsets of the user's topics stay, those of copied topics are
// mapped, those of what is not copied go; metadata goes along.
func TestMapGroup(t *testing.T) {
	om := NewOffsetMap(10)
	om.addRun(run{10, 0, 5})
	om.addRun(run{20, 5, 5}) // between them: markers
	m := &Migration{OldApp: "a", NewApp: "b", Done: map[string]time.Time{}, Topics: []CopiedTopic{{TopicMove: TopicMove{Old: "a-x-repartition", New: "b-x-repartition"},
		Partitions: []CopiedPartition{{Map: om}}}}}
	got, err := mapGroup(m, []kafka.GroupOffset{
		{Topic: "in", Partition: 3, Offset: 77, LeaderEpoch: 4, Metadata: "AgAAAY"},
		{Topic: "a-x-repartition", Offset: 17, LeaderEpoch: 4, Metadata: "m"},
		{Topic: "a-y-repartition", Offset: 5},
	})
	want := []kafka.GroupOffset{{Topic: "in", Partition: 3, Offset: 77, LeaderEpoch: 4, Metadata: "AgAAAY"}, {Topic: "b-x-repartition", Offset: 5, LeaderEpoch: -1, Metadata: "m"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func FuzzCloneJournal(f *testing.F) {
	f.Add([]byte(`{"migration":"m","tasks":[{"from":"0_0","to":"1_0","moves":[{"from":"../x","to":"y"}],"stores":[{"old_store":"a","old_paths":["/etc"]}]}]}`))
	f.Add([]byte(`{"tasks":[{"from":"0_0","to":"1_0","lines":[{"topic":"t","partition":0,"offset":-4}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := &cloneJournal{}
		if j.parse(data) != nil {
			return
		}
		for _, task := range j.Tasks {
			for _, m := range task.Moves {
				for _, path := range []string{m.From, m.To} {
					if strings.HasPrefix(path, "/") || strings.HasPrefix(path, "../") {
						t.Errorf("%q leads out of the state directory", path)
					}
				}
			}
		}
	})
}
