package lint

import (
	"regexp"
	"testing"
	"time"

	"sstool/internal/topology"
)

// ruleCase is a call and what one rule finds: "severity subject".
type ruleCase struct {
	rule, name string
	o          Options
	want       []string
	message    string // part of the first finding's message or fix
}

// ruleCases has every rule, with texts it finds something in and others.
func ruleCases(t *testing.T) []ruleCase {
	in := func(subs ...string) Options { return Options{Inputs: []Input{input(t, "orders", chain(subs...))}} }
	text := func(s string) Options { return Options{Inputs: []Input{input(t, "orders", s)}} }
	apps := func(pairs ...string) Options {
		var o Options
		for i := 0; i < len(pairs); i += 2 {
			o.Inputs = append(o.Inputs, input(t, pairs[i], pairs[i+1]))
		}
		return o
	}
	facts := func(o Options, topics map[string]Topic, groups ...string) Options {
		o.Facts = &Facts{Topics: topics, Complete: true, Groups: groups, From: "the cluster"}
		return o
	}
	dirs := func(o Options, d ...Dir) Options {
		o.Dirs = d
		return o
	}
	conf := func(o Options, c Config) Options {
		for i := range o.Inputs {
			o.Inputs[i].Config = &c
		}
		return o
	}
	n := func(partitions int) Topic { return Topic{Partitions: partitions} }
	policy := func(partitions int, p string) Topic {
		return Topic{Partitions: partitions, Config: map[string]string{"cleanup.policy": p}}
	}
	const (
		aggregate2 = "KSTREAM-AGGREGATE-STATE-STORE-0000000002"
		aggregate4 = "KSTREAM-AGGREGATE-STATE-STORE-0000000004"
		tableText  = "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000001 (topics: [accounts])\n      --> KTABLE-SOURCE-0000000002\n    Processor: KTABLE-SOURCE-0000000002 (stores: [accounts-STATE-STORE-0000000000])\n      --> none\n      <-- KSTREAM-SOURCE-0000000001\n"
		joinText   = "Topologies:\n   Sub-topology: 0\n    Source: s1 (topics: [orders-in])\n      --> KSTREAM-JOIN-0000000003\n    Source: s2 (topics: [users])\n      --> KTABLE-SOURCE-0000000002\n" +
			"    Processor: KSTREAM-JOIN-0000000003 (stores: [users-table])\n      --> none\n      <-- s1\n    Processor: KTABLE-SOURCE-0000000002 (stores: [users-table])\n      --> none\n      <-- s2\n"
		mergeText   = "Topologies:\n   Sub-topology: 0\n    Source: s1 (topics: [eu])\n      --> m\n    Source: s2 (topics: [us])\n      --> m\n    Processor: m (stores: [])\n      --> c\n      <-- s1, s2\n    Processor: c (stores: [totals])\n      --> none\n      <-- m\n"
		windowText  = "Topologies:\n   Sub-topology: 0\n    Source: l (topics: [l])\n      --> KSTREAM-WINDOWED-0000000002\n    Processor: KSTREAM-WINDOWED-0000000002 (stores: [pay-this-join-store])\n      --> none\n      <-- l\n"
		patternText = "Topologies:\n   Sub-topology: 0\n    Source: s (topics: events-.*)\n      --> none\n"
		left25      = "Topologies:\n   Sub-topology: 0\n    Source: l (topics: [l])\n      --> KSTREAM-WINDOWED-0000000003\n    Source: r (topics: [r])\n      --> KSTREAM-WINDOWED-0000000004\n" +
			"    Processor: KSTREAM-WINDOWED-0000000003 (stores: [KSTREAM-JOINTHIS-0000000005-store])\n      --> KSTREAM-JOINTHIS-0000000005\n      <-- l\n" +
			"    Processor: KSTREAM-WINDOWED-0000000004 (stores: [KSTREAM-OUTEROTHER-0000000006-store])\n      --> KSTREAM-OUTEROTHER-0000000006\n      <-- r\n" +
			"    Processor: KSTREAM-JOINTHIS-0000000005 (stores: [KSTREAM-OUTEROTHER-0000000006-store])\n      --> none\n      <-- KSTREAM-WINDOWED-0000000003\n" +
			"    Processor: KSTREAM-OUTEROTHER-0000000006 (stores: [KSTREAM-JOINTHIS-0000000005-store])\n      --> none\n      <-- KSTREAM-WINDOWED-0000000004\n"
		suppressClash = "Topologies:\n   Sub-topology: 0\n    Source: a (topics: [a])\n      --> late\n    Source: b (topics: [b])\n      --> other\n    Processor: late (stores: [late-store])\n      --> none\n      <-- a\n    Processor: other (stores: [late-store])\n      --> none\n      <-- b\n"
	)
	date := func(s string) time.Time { d, _ := time.Parse(time.DateOnly, s); return d }
	cases := []ruleCase{
		{"C1", "two local stores", in("a > p[totals]", "b > q[totals]"), []string{"error totals"}, "two stores of one name"},
		{"C1", "local and global", in("a > p[totals]", "global b > q[totals]"), []string{"error totals"}, "(global)"},
		{"C1", "shared in a sub-topology", in("a > p[totals] > q[totals]"), nil, ""},
		{"C1", "two texts of one application", apps("orders", chain("a > p[totals]"), "orders", chain("b > q[totals]")), []string{"error orders"}, "the changelogs of 1 store"},
		{"C1", "two applications", apps("orders", chain("a > p[totals]"), "billing", chain("b > q[totals]")), nil, ""},
		{"C1", "named topologies", text("Topology: x:\n  Sub-topology: 0\n    Source: s (topics: [a])\n      --> p\n    Processor: p (stores: [t])\n      --> none\n      <-- s\n\nTopology: y:\n  Sub-topology: 0\n    Source: s (topics: [b])\n      --> p\n    Processor: p (stores: [t])\n      --> none\n      <-- s\n"), nil, ""},

		{"C2", "stores", in("a > p[per.user] > q[per_user]"), []string{"error per_user"}, "differs only in '.' and '_'"},
		{"C2", "without an application id", Options{Inputs: []Input{input(t, "", chain("a > p[per.user] > q[per_user]"))}}, []string{"error per_user"}, ""},
		{"C2", "with a topic that exists", facts(in("a > p[per.user]"), map[string]Topic{"a": n(1), "orders-per_user-changelog": n(1)}), []string{"error per.user"}, "which exists"},
		{"C2", "two applications", apps("a.b", chain("x > p[t]"), "a_b", chain("x > p[t]")), []string{"error t"}, ""},
		{"C2", "the changelog itself exists", facts(in("a > p[per.user]"), map[string]Topic{"a": n(1), "orders-per.user-changelog": n(1)}), nil, ""},
		{"C2", "other letters", in("a > p[per.user] > q[per.users]"), nil, ""},

		{"C3", "characters", in("a > p[my store/1]"), []string{"error my store/1"}, "cannot be created"},
		{"C3", "too long", in("a > p[" + long(230) + "]"), nil, ""},
		{"C3", "one too long", in("a > p[" + long(233) + "]"), []string{"error " + long(233)}, "1 character shorter"},
		{"C3", "user topic", in("a > p > (bad topic)"), []string{"error bad topic"}, ""},

		{"C4", "concatenation", apps("shop", chain("a > p[eu-totals]"), "shop-eu", chain("b > p[totals]")), []string{"error totals"}, "shop-eu-totals-changelog"},
		{"C4", "with a group of the cluster", facts(apps("shop", chain("a > p[eu-totals]")), map[string]Topic{"a": n(1), "shop-eu-totals-changelog": n(1)}, "shop", "shop-eu"), []string{"warning eu-totals"}, "may be application shop-eu's"},
		{"C4", "other stores", apps("shop", chain("a > p[totals]"), "shop-eu", chain("b > p[totals]")), nil, ""},

		{"C5", "changelog as input", in("orders-totals-changelog > p[totals]"), []string{"error orders-totals-changelog"}, "the changelog of store totals"},
		{"C5", "another application's", apps("orders", chain("a > p[totals]"), "billing", chain("orders-totals-changelog > q[sums]")), []string{"error orders-totals-changelog"}, "of application orders"},
		{"C5", "looks internal", in("a > p > (orders-x-changelog)"), []string{"warning orders-x-changelog"}, "the reset tool deletes it"},
		{"C5", "own topics", in("orders-in > p[totals] > (orders-totals)", "totals-topic > q"), nil, ""},

		{"C6", "in the call", apps("shop", chain("a > p"), "shop-eu", chain("b > q")), []string{"warning shop"}, "is the beginning of shop-eu"},
		{"C6", "in the cluster", facts(apps("shop-eu", chain("a > p")), map[string]Topic{"a": n(1)}, "shop"), []string{"warning shop-eu"}, "begins with that of shop"},
		{"C6", "no dash", apps("shop", chain("a > p"), "shopping", chain("b > q")), nil, ""},

		{"C7", "suppression", text(suppressClash), []string{"error late-store"}, "made in two ways"},
		{"C7", "two writers of a repartition", in("a > p > (x-repartition)", "b > q > (x-repartition)", "x-repartition > r[t]"), []string{"error x-repartition"}, "two operators made its name"},
		{"C7", "read behind it", in("a > late[late-store] > other[late-store]"), nil, ""},
		{"C7", "two writers of a user's topic", in("a > p > (x)", "b > q > (x)", "x > r[t]"), nil, ""},

		{"C8", "count", in("a > k > ("+aggregate2+"-repartition)", aggregate2+"-repartition > KSTREAM-AGGREGATE-0000000003["+aggregate2+"]"), []string{"error " + aggregate2 + "-repartition", "error " + aggregate2}, `Materialized.as("a-total")`},
		{"C8", "global", in("global a > KTABLE-SOURCE-0000000001[a-STATE-STORE-0000000000]"), []string{"warning a-STATE-STORE-0000000000"}, "a global store has no changelog"},
		{"C8", "with the optimisation", conf(text(tableText), Config{Optimization: "all"}), []string{"warning accounts-STATE-STORE-0000000000"}, "its changelog is the source topic"},
		{"C8", "grace buffer", in("a > KSTREAM-JOIN-0000000003[KSTREAM-JOIN-0000000003-Buffer]"), []string{"error KSTREAM-JOIN-0000000003-Buffer"}, `Joined.as("a-join") makes it a-join-Buffer`},
		{"C8", "suppression", in("a > KTABLE-SUPPRESS-0000000002[KTABLE-SUPPRESS-STATE-STORE-0000000003]"), []string{"error KTABLE-SUPPRESS-STATE-STORE-0000000003"}, `Suppressed.withName("a-final") makes it a-final-store`},
		{"C8", "a suggestion that is taken", in("a > KSTREAM-AGGREGATE-0000000003[" + aggregate2 + "] > p[a-total]"), []string{"error " + aggregate2}, `"a-total-2"`},
		{"C8", "processors only", in("a > KSTREAM-AGGREGATE-0000000003[totals] > KTABLE-TOSTREAM-0000000004"), nil, ""},

		{"N1", "named count", in("a > count-clicks[" + aggregate2 + "]"), []string{"warning count-clicks"}, aggregate2},
		{"N1", "a join reads the table", in("a > KTABLE-SOURCE-0000000001[a-STATE-STORE-0000000000] > my-join[a-STATE-STORE-0000000000]"), nil, ""},
		{"N1", "both named", in("a > count-clicks[clicks]"), nil, ""},

		{"N2", "toTable", in("a > k > (KSTREAM-TOTABLE-0000000002-repartition)", "KSTREAM-TOTABLE-0000000002-repartition > KSTREAM-TOTABLE-0000000002[prices]"), []string{"warning prices"}, "KSTREAM-TOTABLE-0000000002-repartition"},
		{"N2", "stream-table join", in("a > k > (KSTREAM-MAP-0000000002-repartition)", "KSTREAM-MAP-0000000002-repartition > KSTREAM-JOIN-0000000005[prices]"), nil, ""},
		{"N2", "named topic", in("a > k > (p-repartition)", "p-repartition > KSTREAM-TOTABLE-0000000002[prices]"), nil, ""},

		{"N3", "withName only", in("a > pay-this-windowed[KSTREAM-JOINTHIS-0000000005-store] > pay-this-join[KSTREAM-JOINOTHER-0000000006-store]"), []string{"warning pay"}, `withStoreName("pay")`},
		{"N3", "neither", in("a > KSTREAM-WINDOWED-0000000003[KSTREAM-JOINTHIS-0000000005-store]"), nil, ""},
		{"N3", "both", in("a > pay-this-windowed[pay-this-join-store] > pay-this-join[pay-other-join-store]"), nil, ""},

		{"N4", "two", in("a > KSTREAM-AGGREGATE-0000000003[" + aggregate2 + "] > KSTREAM-AGGREGATE-0000000005[" + aggregate4 + "]"), []string{"info orders"}, aggregate4 + " becomes KSTREAM-AGGREGATE-STATE-STORE-0000000003"},
		{"N4", "one", in("a > KSTREAM-AGGREGATE-0000000003[" + aggregate2 + "]"), nil, ""},
		{"N4", "a join moves nothing", text(left25), nil, ""},

		{"C9", "stores", in("a > p[Orders] > q[orders]"), []string{"warning orders"}, "differ only in case"},
		{"C9", "applications", apps("Shop", chain("a > p"), "shop", chain("b > q")), []string{"warning shop"}, ""},
		{"C9", "different", in("a > p[Orders] > q[orders-all]"), nil, ""},

		{"C10", "rocksdb", in("a > p[rocksdb]"), []string{"error rocksdb"}, ""},
		{"C10", "rocksdb of a table", in("a > KTABLE-SOURCE-0000000001[rocksdb]"), []string{"warning rocksdb"}, ""},
		{"C10", "files", in("a > p[.checkpoint] > q[x.position] > r[x.lock]"), []string{"error .checkpoint", "error x.position", "error x.lock"}, ""},
		{"C10", "near them", in("a > p[rocksdb-2] > q[position] > r[lock]"), nil, ""},

		{"C11", "no such operator", in("a > p[KSTREAM-FOO-STATE-STORE-0000000003]"), []string{"warning KSTREAM-FOO-STATE-STORE-0000000003"}, "written by hand"},
		{"C11", "a number twice", in("a > KSTREAM-AGGREGATE-0000000002[" + aggregate2 + "]"), []string{"warning " + aggregate2}, "number 2 is that of KSTREAM-AGGREGATE-0000000002"},
		{"C11", "shared store of a join", in("a > KSTREAM-OUTERTHIS-0000000004[KSTREAM-OUTERSHARED-0000000004-store] > KSTREAM-WINDOWED-0000000002[KSTREAM-OUTERTHIS-0000000004-store]"), nil, ""},
		{"C11", "generated", in("a > KSTREAM-AGGREGATE-0000000003[" + aggregate2 + "]"), nil, ""},

		{"C12", "on disk", dirs(text(tableText), Dir{AppID: "orders", Task: "0_0", Name: "accounts-STATE-STORE-0000000000", Segmented: true, Path: "/d"}), []string{"error accounts-STATE-STORE-0000000000"}, "on disk it is a window store"},
		{"C12", "changelog of windows", facts(text(joinText), map[string]Topic{"orders-in": n(1), "users": n(1), "orders-users-table-changelog": policy(1, "compact,delete")}), []string{"error users-table"}, "rows older than its retention are lost"},
		{"C12", "changelog without delete", facts(text(windowText), map[string]Topic{"l": n(1), "orders-pay-this-join-store-changelog": policy(1, "compact")}), []string{"warning pay-this-join-store"}, ""},
		{"C12", "two texts", apps("orders", windowText, "orders", chain("a > KTABLE-SOURCE-0000000001[pay-this-join-store]")), nil, ""},
		{"C12", "two texts, kinds that processors tell", apps("orders", chain("a > KSTREAM-WINDOWED-0000000001[rows]"), "orders", chain("a > KTABLE-SOURCE-0000000001[rows]")), []string{"error rows"}, "is a key-value store here"},
		{"C12", "as it should be", facts(text(windowText), map[string]Topic{"l": n(1), "orders-pay-this-join-store-changelog": policy(1, "delete")}), nil, ""},
		{"C12", "kind unknown", facts(in("a > p[totals]"), map[string]Topic{"a": n(1), "orders-totals-changelog": policy(1, "delete")}), nil, ""},

		{"W1", "weak", in("a > p[store1] > q[my-store] > r[temp] > s[KSTREAM-by-hand]"), []string{"warning store1", "warning my-store", "warning temp", "warning KSTREAM-by-hand"}, ""},
		{"W1", "of a join", in("a > p[my-this-join-store]"), []string{"warning my-this-join-store"}, `"my"`},
		{"W1", "repartition", in("a > p > (temp-repartition)", "temp-repartition > q"), []string{"warning temp-repartition"}, ""},
		{"W1", "configured", conf(in("a > p[store1] > q[payments]"), Config{WeakNames: []*regexp.Regexp{regexp.MustCompile("^pay")}}), []string{"warning payments"}, ""},
		{"W1", "good", in("a > p[account-payment-total] > q[counts-store] > r[machine-1m-count-store] > s[storefront-orders]"), nil, ""},

		{"W2", "prefix", conf(in("a > p[payments] > q[account.payments] > r[account.]"), Config{Prefixes: []string{"account.", "inventory."}}), []string{"warning payments", "warning account."}, "begins with none of account., inventory."},
		{"W2", "pattern", conf(in("a > p[Payments] > q[payments]"), Config{Pattern: regexp.MustCompile("^[a-z-]+$")}), []string{"warning Payments"}, "does not match"},
		{"W2", "generated are C8's", conf(in("a > KSTREAM-AGGREGATE-0000000003["+aggregate2+"]"), Config{Prefixes: []string{"account."}}), nil, ""},
		{"W2", "no convention", in("a > p[Payments]"), nil, ""},

		{"T1", "process", in("a > KSTREAM-KEY-SELECT-0000000001 > KSTREAM-FILTER-0000000002 > dedup[seen]"), []string{"warning dedup"}, "KSTREAM-KEY-SELECT-0000000001 (line 5)"},
		{"T1", "repartitioned", in("a > KSTREAM-KEY-SELECT-0000000001 > (x-repartition)", "x-repartition > dedup[seen]"), nil, ""},
		{"T1", "before the key change", in("a > dedup[seen] > KSTREAM-MAP-0000000001 > KSTREAM-FILTER-0000000002"), nil, ""},
		{"T1", "values only", in("a > KSTREAM-MAPVALUES-0000000001 > dedup[seen]"), nil, ""},

		{"T2", "read by a task too", in("rates > p", "global rates > q[rates]"), []string{"error rates"}, "refuses the second source"},
		{"T2", "something behind it", in("global rates > q[rates] > r"), []string{"error q"}, ""},
		{"T2", "a sink behind it", in("global rates > q[rates] > (out)"), []string{"error q", "error node-1"}, ""},
		{"T2", "on a repartition topic", in("a > p > (x-repartition)", "global x-repartition > q[rates]"), []string{"error x-repartition"}, "its records are deleted"},
		{"T2", "as it should be", in("a > p", "global rates > q[rates]"), nil, ""},

		{"T3", "not known", text(tableText), []string{"info accounts-STATE-STORE-0000000000"}, "is topic accounts with topology.optimization, orders-accounts-STATE-STORE-0000000000-changelog without"},
		{"T3", "on", conf(text(tableText), Config{Optimization: "all"}), []string{"info accounts-STATE-STORE-0000000000"}, "restored from topic accounts"},
		{"T3", "on, not compacted", facts(conf(text(tableText), Config{Optimization: "all"}), map[string]Topic{"accounts": policy(1, "delete")}), []string{"warning accounts", "info accounts-STATE-STORE-0000000000"}, ""},
		{"T3", "global, not compacted", facts(in("global rates > q[rates]"), map[string]Topic{"rates": policy(1, "delete")}), []string{"warning rates"}, ""},
		{"T3", "off", conf(text(tableText), Config{Optimization: "none"}), nil, ""},
		{"T3", "no table", in("a > p[totals]"), nil, ""},

		{"T4", "pattern", text(patternText), []string{"info s"}, `"events-.*"`},
		{"T4", "list", in("a > p"), nil, ""},

		{"T5", "old left join", text(left25), []string{"info KSTREAM-OUTEROTHER-0000000006-store"}, "KSTREAM-OUTERSHARED-0000000005-store"},
		{"T5", "old named join", in("a > p[pay-outer-other-join-store]"), []string{"info pay-outer-other-join-store"}, "pay-left-shared-join-store"},
		{"T5", "new left join", in("a > p[KSTREAM-JOINTHIS-0000000005-store] > q[KSTREAM-OUTERSHARED-0000000005-store] > r[KSTREAM-OUTEROTHER-0000000006-store]"), nil, ""},
		{"T5", "new named join", in("a > p[pay-outer-other-join-store] > q[pay-left-shared-join-store]"), nil, ""},
		{"T5", "inner join", in("a > p[KSTREAM-JOINTHIS-0000000005-store] > r[KSTREAM-JOINOTHER-0000000006-store]"), nil, ""},

		{"P1", "join", facts(text(joinText), map[string]Topic{"orders-in": n(6), "users": n(4)}), []string{"error users-table"}, "(orders-in 6, users 4): the application does not start"},
		{"P1", "merge", facts(text(mergeText), map[string]Topic{"eu": n(6), "us": n(4)}), []string{"error totals"}, "split over tasks"},
		{"P1", "equal", facts(text(joinText), map[string]Topic{"orders-in": n(4), "users": n(4)}), nil, ""},
		{"P1", "not joined", facts(in("a > p[x]", "b > q[y]"), map[string]Topic{"a": n(6), "b": n(4)}), nil, ""},

		{"P2", "more topics than changelog", facts(in("a > p[totals]"), map[string]Topic{"a": n(6), "orders-totals-changelog": n(4)}), []string{"error totals"}, "has 4 partitions, sub-topology 0 has 6 tasks"},
		{"P2", "equal", facts(in("a > p[totals]"), map[string]Topic{"a": n(6), "orders-totals-changelog": n(6)}), nil, ""},
		{"P2", "not there yet", facts(in("a > p[totals]"), map[string]Topic{"a": n(6)}), nil, ""},

		{"P3", "differs", facts(in("a > k > (x-repartition)", "x-repartition > p[t]"), map[string]Topic{"a": n(6), "orders-x-repartition": n(4)}), []string{"warning x-repartition"}, "withNumberOfPartitions(4)"},
		{"P3", "as the other side of a join", facts(text(chain("a > k > (x-repartition)")+"  Sub-topology: 1\n    Source: x1 (topics: [x-repartition])\n      --> j\n    Source: x2 (topics: [users])\n      --> u\n    Processor: j (stores: [t])\n      --> none\n      <-- x1\n    Processor: u (stores: [t])\n      --> none\n      <-- x2\n"), map[string]Topic{"a": n(6), "users": n(4), "orders-x-repartition": n(4)}), nil, ""},
		{"P3", "equal", facts(in("a > k > (x-repartition)", "x-repartition > p[t]"), map[string]Topic{"a": n(6), "orders-x-repartition": n(6)}), nil, ""},

		{"P4", "missing", facts(in("ordres > p > (out)"), map[string]Topic{"orders": n(1)}), []string{"error ordres", "warning out"}, "the application stops at its first rebalance"},
		{"P4", "there", facts(in("orders > p > (out)"), map[string]Topic{"orders": n(1), "out": n(1)}), nil, ""},
		{"P4", "only a list", Options{Inputs: in("ordres > p").Inputs, Facts: &Facts{Topics: map[string]Topic{"orders": n(1)}}}, nil, ""},

		{"P5", "misplaced", Options{Inputs: in("a > p").Inputs, Samples: []Sample{{Topic: "a", Partition: 0, Keys: 10}, {Topic: "a", Partition: 1, Keys: 10, Misplaced: 3, Example: []byte("k"), Belongs: 0}}}, []string{"warning a"}, `3 of 20 keys sampled in topic a are not where the default partitioner puts them: "k" is in partition 1, belongs in 0`},
		{"P5", "in place", Options{Inputs: in("a > p").Inputs, Samples: []Sample{{Topic: "a", Keys: 10}}}, nil, ""},

		{"S1", "shifted on disk", dirs(in("a > KSTREAM-AGGREGATE-0000000005["+aggregate4+"]"), Dir{AppID: "orders", Task: "0_0", Name: aggregate2, Path: "/d"}), []string{"error " + aggregate2}, "it seems to be " + aggregate4 + " now"},
		{"S1", "orphan on disk", dirs(in("a > p[totals]"), Dir{AppID: "orders", Task: "0_0", Name: "sums", Path: "/d"}), []string{"warning sums"}, "the topology has none of that name"},
		{"S1", "shifted changelog", facts(in("a > KSTREAM-AGGREGATE-0000000005["+aggregate4+"]"), map[string]Topic{"a": n(1), "orders-" + aggregate2 + "-changelog": n(1)}), []string{"error " + aggregate2}, ""},
		{"S1", "not shifted: the other exists too", facts(in("a > KSTREAM-AGGREGATE-0000000005["+aggregate4+"]"), map[string]Topic{"a": n(1), "orders-" + aggregate2 + "-changelog": n(1), "orders-" + aggregate4 + "-changelog": n(1)}), []string{"warning " + aggregate2}, ""},
		{"S1", "old repartition topic", facts(in("a > p[totals]"), map[string]Topic{"a": n(1), "orders-totals-repartition": n(1)}), []string{"warning totals-repartition"}, ""},
		{"S1", "of another application", facts(in("a > p[totals]"), map[string]Topic{"a": n(1), "orders-v2-sums-changelog": n(1)}, "orders-v2"), nil, ""},
		{"S1", "all there", facts(dirs(in("a > p[totals]"), Dir{AppID: "orders", Task: "0_0", Name: "totals"}), map[string]Topic{"a": n(1), "orders-totals-changelog": n(1)}), nil, ""},

		{"S2", "moved", dirs(in("a > k", "b > p[totals]"), Dir{AppID: "orders", Task: "0_0", Name: "totals", Path: "/d"}, Dir{AppID: "orders", Task: "0_1", Name: "totals", Path: "/e"}), []string{"error totals"}, "is in sub-topology 1, on disk in tasks 0_0, 0_1"},
		{"S2", "global once", dirs(in("a > p[totals]"), Dir{AppID: "orders", Task: "global", Global: true, Subtopology: -1, Name: "totals", Path: "/d"}), []string{"error totals"}, ""},
		{"S2", "in place", dirs(in("a > k", "b > p[totals]"), Dir{AppID: "orders", Task: "1_0", Subtopology: 1, Name: "totals"}), nil, ""},
		{"S2", "another application's", dirs(in("a > k", "b > p[totals]"), Dir{AppID: "billing", Task: "0_0", Name: "totals"}), nil, ""},

		{"I1", "unparsed", text(chain("a > p") + "![picture](x.png)\n"), []string{"warning ![picture](x.png)"}, ""},
		{"I1", "clean", in("a > p"), nil, ""},

		{"I2", "contradiction", text("Topologies:\n   Sub-topology: 0\n    Source: s (topics: [a])\n      --> p\n    Processor: p (stores: [])\n      --> none\n      <-- s\n    Processor: q (stores: [])\n      --> none\n      <-- s\n"), []string{"warning " + string(topology.Contradiction)}, ""},
		{"I2", "clean", in("a > p"), nil, ""},

		{"I3", "expired", conf(Options{Inputs: in("a > p[store1]").Inputs, Now: date("2026-06-10")}, Config{Ignores: []Ignore{{Rule: "W1", Reason: "soon", Expires: date("2026-06-01")}}}), []string{"warning W1"}, "expired on 2026-06-01"},
		{"I3", "needed", conf(in("a > p[store1]"), Config{Ignores: []Ignore{{Rule: "W1", Reason: "soon"}}}), nil, ""},

		{"I4", "brokers without nodes", held(t, topology.Held{Partial: "no plugin", Subtopologies: []topology.HeldSubtopology{
			{ID: "0", Sources: []string{"clicks"}, Changelogs: []string{"orders-totals-changelog"}},
		}}), []string{"warning orders"}, "no processors and arrows"},
		{"I4", "brokers with nodes", held(t, topology.Held{Subtopologies: []topology.HeldSubtopology{
			{ID: "0", Nodes: []topology.Node{{Kind: topology.Source, Name: "s", Topics: []string{"clicks"}}}},
		}}), nil, ""},
		// What stands for nodes is nothing to judge; stores and topics are.
		{"C8", "brokers without nodes", held(t, partial), []string{"error KSTREAM-AGGREGATE-STATE-STORE-0000000002"}, "orders-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog"},
		{"N1", "brokers without nodes", held(t, partial), nil, ""},
		{"P1", "brokers without nodes", facts(held(t, partial), map[string]Topic{"clicks": n(2), "users": n(3), "orders-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog": n(3)}), nil, ""},
		{"P2", "brokers without nodes", facts(held(t, partial), map[string]Topic{"clicks": n(2), "users": n(3), "orders-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog": n(2)}), []string{"error KSTREAM-AGGREGATE-STATE-STORE-0000000002"}, "2 partitions, sub-topology 0 has 3 tasks"},
		{"S1", "brokers without nodes know no unlogged store", dirs(held(t, partial), Dir{AppID: "orders", Task: "0_0", Name: "unlogged"}), nil, ""},
		{"S1", "with the optimisation a table has no changelog", conf(facts(in("a > KTABLE-SOURCE-0000000001[a-STATE-STORE-0000000000]"), map[string]Topic{"a": n(1)}), Config{Optimization: "all"}), nil, ""},
		{"C2", "with the optimisation a table has no changelog", conf(facts(in("a > KTABLE-SOURCE-0000000001[a.t]"), map[string]Topic{"a": n(1), "orders-a_t-changelog": n(1)}), Config{Optimization: "all"}), nil, ""},
		{"C2", "without it, it has one", conf(facts(in("a > KTABLE-SOURCE-0000000001[a.t]"), map[string]Topic{"a": n(1), "orders-a_t-changelog": n(1)}), Config{Optimization: "none"}), []string{"error a.t"}, ""},
		{"P3", "repartition() may set a number", facts(in("a > (x-repartition)", "x-repartition > p > (out)"), map[string]Topic{"a": n(2), "orders-x-repartition": n(4), "out": n(1)}), []string{"info x-repartition"}, ""},
		{"P3", "a grouping may not", facts(in("a > (x-repartition)", "x-repartition > p[s] > (out)"), map[string]Topic{"a": n(2), "orders-x-repartition": n(4), "out": n(1)}), []string{"warning x-repartition"}, ""},
	}
	return cases
}

// partial is what brokers without a plugin for descriptions hold.
var partial = topology.Held{Partial: "no plugin", Subtopologies: []topology.HeldSubtopology{
	{ID: "0", Sources: []string{"clicks", "users"}, Changelogs: []string{"orders-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog"}},
}}

func held(t *testing.T, h topology.Held) Options {
	t.Helper()
	h.ApplicationID = "orders"
	m, err := h.Model()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Inputs: []Input{{AppID: "orders", File: m.File, Topologies: m.Topologies, Problems: m.Problems}}}
}

// long is a name of so many characters. With the application orders a store
// may have 249-11-6 = 232.
func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghij"[i%10]
	}
	return string(b)
}
