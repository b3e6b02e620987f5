package topology

import (
	"slices"
	"strings"
)

// Role is what Kafka Streams uses a store for, as far as its name tells.
type Role string

const (
	Unknown         Role = ""                 // a name of the application's own, or not ours
	StreamAggregate Role = "stream-aggregate" // may be windowed
	TableAggregate  Role = "table-aggregate"  // of a grouped table
	SourceTable     Role = "source-table"     // of table(topic) or globalTable(topic)
	ToTable         Role = "to-table"         // of toTable()
	TableView       Role = "table-view"       // of filter, mapValues, transformValues on a table
	TableJoin       Role = "table-join"       // result of a join of two tables
	FKJoin          Role = "fk-join"          // result of a foreign-key join
	FKSubscription  Role = "fk-subscription"  // subscriptions of a foreign-key join
	JoinThis        Role = "join-this"        // left records of a stream-stream join
	JoinOther       Role = "join-other"       // right records of it
	JoinShared      Role = "join-shared"      // its records without a match yet (Kafka >= 3.1)
	Suppression     Role = "suppression"      // in memory, its changelog is all there is
	GraceBuffer     Role = "grace-buffer"     // of a stream-table join with a grace period
)

// StoreName is what the name of a store tells.
type StoreName struct {
	Role      Role
	Base      string // what the name follows from: "x" of "x-this-join-store", a topic, a processor; "" when it is a name on its own
	Generated bool   // nobody would write it by hand, and it shifts
}

// ParseStoreName reads the name Kafka Streams generated, or the ending it gives
// to a name of the application's (KI/KStreamImplJoin,
// OuterStreamJoinStoreFactory, KTableImpl, KGroupedTableImpl,
// InternalStreamsBuilder). Processors are those with the store, nil when not
// known: two endings are only believed beside the processor they come from.
func ParseStoreName(name string, processors []string) StoreName {
	if g, ok := ParseGenerated(name); ok {
		if n, ok := g.store(); ok {
			return n
		}
	}
	for _, e := range [...]struct {
		ending string
		role   Role
	}{
		{"-outer-shared-join-store", JoinShared}, {"-left-shared-join-store", JoinShared},
		{"-outer-this-join-store", JoinThis}, {"-outer-other-join-store", JoinOther},
		{"-this-join-store", JoinThis}, {"-other-join-store", JoinOther},
		{"-subscription-store", FKSubscription},
	} {
		if base, ok := strings.CutSuffix(name, e.ending); ok && base != "" {
			return StoreName{Role: e.role, Base: base}
		}
	}
	if base, ok := strings.CutSuffix(name, "-Buffer"); ok && (processors == nil || slices.Contains(processors, base)) {
		return StoreName{Role: GraceBuffer, Base: base}
	}
	if base, ok := strings.CutSuffix(name, "-store"); ok && slices.Contains(processors, base) {
		return StoreName{Role: Suppression, Base: base}
	}
	return StoreName{}
}

// store reads a generated name as that of a store.
func (g Generated) store() (StoreName, bool) {
	n := StoreName{Generated: true}
	if topic := g.Topic(); topic != "" {
		n.Role, n.Base = SourceTable, topic
		return n, true
	}
	switch op := g.Operator(); {
	case g.IsStore() && g.Suffix == "":
		n.Role = generatedRole(op)
	case g.Suffix == "-store":
		switch op {
		case "KSTREAM-JOINTHIS", "KSTREAM-OUTERTHIS":
			n.Role = JoinThis
		case "KSTREAM-JOINOTHER", "KSTREAM-OUTEROTHER":
			n.Role = JoinOther
		case "KSTREAM-OUTERSHARED":
			n.Role = JoinShared
		}
	case g.Suffix == "-Buffer" && (op == "KSTREAM-JOIN" || op == "KSTREAM-LEFTJOIN"):
		n.Role, n.Base = GraceBuffer, strings.TrimSuffix(g.String(), g.Suffix)
	}
	return n, n.Role != Unknown
}

// generatedRole is that of a store whose number is its own.
func generatedRole(operator string) Role {
	switch operator {
	case "KSTREAM-AGGREGATE", "KSTREAM-REDUCE", "COGROUPKSTREAM-AGGREGATE":
		return StreamAggregate
	case "KTABLE-AGGREGATE", "KTABLE-REDUCE":
		return TableAggregate
	case "KSTREAM-TOTABLE":
		return ToTable
	case "KTABLE-FILTER", "KTABLE-MAPVALUES", "KTABLE-TRANSFORMVALUES":
		return TableView
	case "KTABLE-MERGE":
		return TableJoin
	case "KTABLE-FK-JOIN-OUTPUT":
		return FKJoin
	case "KTABLE-FK-JOIN-SUBSCRIPTION":
		return FKSubscription
	case "KTABLE-SUPPRESS":
		return Suppression
	}
	return Unknown
}
