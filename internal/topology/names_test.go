package topology

import (
	"strings"
	"testing"
)

func TestParseGenerated(t *testing.T) {
	for name, want := range map[string]struct {
		g     Generated
		op    string
		topic string
		calls string
	}{
		"KSTREAM-AGGREGATE-STATE-STORE-0000000004":              {Generated{"KSTREAM-AGGREGATE-STATE-STORE-", 4, ""}, "KSTREAM-AGGREGATE", "", "aggregate count"},
		"KSTREAM-AGGREGATE-STATE-STORE-0000000004-repartition":  {Generated{"KSTREAM-AGGREGATE-STATE-STORE-", 4, "-repartition"}, "KSTREAM-AGGREGATE", "", "aggregate count"},
		"KSTREAM-JOINTHIS-0000000016-store":                     {Generated{"KSTREAM-JOINTHIS-", 16, "-store"}, "KSTREAM-JOINTHIS", "", "join leftJoin outerJoin"},
		"COGROUPKSTREAM-MERGE-0000000001":                       {Generated{"COGROUPKSTREAM-MERGE-", 1, ""}, "COGROUPKSTREAM-MERGE", "", "merge join leftJoin outerJoin cogroup"},
		"KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000029-topic": {Generated{"KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-", 29, "-topic"}, "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE", "", "join leftJoin"},
		"positions-STATE-STORE-0000000002":                      {Generated{"positions-STATE-STORE-", 2, ""}, "", "positions", "table globalTable"},
		"a-0000000001-STATE-STORE-0000000002":                   {Generated{"a-0000000001-STATE-STORE-", 2, ""}, "", "a-0000000001", "table globalTable"},
		"KSTREAM-KEY-SELECT-1234567890":                         {Generated{"KSTREAM-KEY-SELECT-", 1234567890, ""}, "KSTREAM-KEY-SELECT", "", "selectKey groupBy toStream"},
		"KSTREAM-BRANCH-0000000020":                             {Generated{"KSTREAM-BRANCH-", 20, ""}, "KSTREAM-BRANCH", "", "split branch"},
		"KSTREAM-BRANCH-00000000201":                            {Generated{"KSTREAM-BRANCH-", 20, "1"}, "KSTREAM-BRANCH", "", "split branch"},
		"KSTREAM-BRANCH-0000000020big-ones":                     {Generated{"KSTREAM-BRANCH-", 20, "big-ones"}, "KSTREAM-BRANCH", "", "split branch"},
		"KSTREAM-UNHEARD-OF-0000000001":                         {Generated{"KSTREAM-UNHEARD-OF-", 1, ""}, "KSTREAM-UNHEARD-OF", "", ""},
	} {
		g, ok := ParseGenerated(name)
		if !ok || g != want.g || g.Operator() != want.op || g.Topic() != want.topic || g.String() != name {
			t.Errorf("%s: %+v, %v, operator %q, topic %q, %s", name, g, ok, g.Operator(), g.Topic(), g)
		}
		if op, ok := OperatorOf(name); op.Calls != want.calls || ok != (want.calls != "") {
			t.Errorf("%s: %+v, %v", name, op, ok)
		}
	}
	for _, name := range []string{"", "counts", "counts-0000000001", "KSTREAM-AGGREGATE-000000004", "KSTREAM-AGGREGATE-00000000x4", "KSTREAM--0000000004",
		"KSTREAM-0000000004", "kstream-filter-0000000004", "orders_0000000001", "KSTREAM-FILTER0000000004", "0000000004"} {
		if g, ok := ParseGenerated(name); ok {
			t.Errorf("%q: %+v", name, g)
		}
	}
}

// TestOperators holds the operators of the reference (operators.md 3.D)
// against those known.
func TestOperators(t *testing.T) {
	for _, name := range strings.Fields(`
		KSTREAM-SOURCE KSTREAM-SINK KSTREAM-FILTER KSTREAM-MAP KSTREAM-MAPVALUES KSTREAM-FLATMAP KSTREAM-FLATMAPVALUES KSTREAM-KEY-SELECT KSTREAM-PEEK
		KSTREAM-FOREACH KSTREAM-PROCESSOR KSTREAM-PROCESSVALUES KSTREAM-TRANSFORM KSTREAM-TRANSFORMVALUES KSTREAM-BRANCH KSTREAM-MERGE KSTREAM-JOIN
		KSTREAM-LEFTJOIN KSTREAM-WINDOWED KSTREAM-JOINTHIS KSTREAM-JOINOTHER KSTREAM-OUTERTHIS KSTREAM-OUTEROTHER KSTREAM-OUTERSHARED KSTREAM-REDUCE
		KSTREAM-AGGREGATE KSTREAM-REPARTITION KSTREAM-TOTABLE KSTREAM-PRINTER KTABLE-SOURCE KTABLE-SINK KTABLE-FILTER KTABLE-MAPVALUES
		KTABLE-TRANSFORMVALUES KTABLE-SELECT KTABLE-SUPPRESS KTABLE-TOSTREAM KTABLE-MERGE KTABLE-JOINTHIS KTABLE-JOINOTHER KTABLE-AGGREGATE KTABLE-REDUCE
		KTABLE-FK-JOIN-OUTPUT COGROUPKSTREAM-AGGREGATE COGROUPKSTREAM-MERGE`) {
		op, ok := OperatorOf(name + "-0000000001")
		if !ok || op.Name != name || op.Rekeys != strings.Contains("KSTREAM-MAP KSTREAM-FLATMAP KSTREAM-KEY-SELECT KSTREAM-PROCESSOR KSTREAM-TRANSFORM KTABLE-SELECT ", name+" ") {
			t.Errorf("%s: %+v, %v", name, op, ok)
		}
	}
}

func TestParseStoreName(t *testing.T) {
	for _, c := range []struct {
		name       string
		processors string
		want       StoreName
	}{
		{"counts", "", StoreName{}},
		{"KSTREAM-AGGREGATE-STATE-STORE-0000000004", "", StoreName{StreamAggregate, "", true}},
		{"KSTREAM-REDUCE-STATE-STORE-0000000004", "", StoreName{StreamAggregate, "", true}},
		{"COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000004", "", StoreName{StreamAggregate, "", true}},
		{"KTABLE-AGGREGATE-STATE-STORE-0000000004", "", StoreName{TableAggregate, "", true}},
		{"KSTREAM-TOTABLE-STATE-STORE-0000000004", "", StoreName{ToTable, "", true}},
		{"KTABLE-MERGE-STATE-STORE-0000000004", "", StoreName{TableJoin, "", true}},
		{"KTABLE-FK-JOIN-OUTPUT-STATE-STORE-0000000004", "", StoreName{FKJoin, "", true}},
		{"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000004", "", StoreName{FKSubscription, "", true}},
		{"KTABLE-SUPPRESS-STATE-STORE-0000000004", "", StoreName{Suppression, "", true}},
		{"orders-STATE-STORE-0000000004", "", StoreName{SourceTable, "orders", true}},
		{"KSTREAM-JOINTHIS-0000000004-store", "", StoreName{JoinThis, "", true}},
		{"KSTREAM-OUTERTHIS-0000000004-store", "", StoreName{JoinThis, "", true}},
		{"KSTREAM-OUTEROTHER-0000000004-store", "", StoreName{JoinOther, "", true}},
		{"KSTREAM-OUTERSHARED-0000000004-store", "", StoreName{JoinShared, "", true}},
		{"KSTREAM-JOIN-0000000004-Buffer", "", StoreName{GraceBuffer, "KSTREAM-JOIN-0000000004", true}},
		{"KSTREAM-FILTER-0000000004", "", StoreName{}},
		{"KSTREAM-FILTER-0000000004-store", "", StoreName{}},
		{"x-this-join-store", "", StoreName{JoinThis, "x", false}},
		{"x-outer-this-join-store", "", StoreName{JoinThis, "x", false}},
		{"x-other-join-store", "", StoreName{JoinOther, "x", false}},
		{"x-outer-other-join-store", "", StoreName{JoinOther, "x", false}},
		{"x-left-shared-join-store", "", StoreName{JoinShared, "x", false}},
		{"x-outer-shared-join-store", "", StoreName{JoinShared, "x", false}},
		{"x-subscription-store", "", StoreName{FKSubscription, "x", false}},
		{"-subscription-store", "", StoreName{}},
		{"gj-Buffer", "", StoreName{GraceBuffer, "gj", false}},
		{"gj-Buffer", "gj", StoreName{GraceBuffer, "gj", false}},
		{"gj-Buffer", "p", StoreName{}},
		{"sup-store", "", StoreName{}},
		{"sup-store", "sup", StoreName{Suppression, "sup", false}},
	} {
		var processors []string
		if c.processors != "" {
			processors = []string{c.processors}
		}
		if got := ParseStoreName(c.name, processors); got != c.want {
			t.Errorf("%s (%s): %+v, want %+v", c.name, c.processors, got, c.want)
		}
	}
}
