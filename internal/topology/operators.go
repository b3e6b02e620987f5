package topology

import "strings"

// Operator is what a generated name tells of the call that made a node.
type Operator struct {
	Name   string // "KSTREAM-KEY-SELECT"
	Calls  string // of the DSL: "selectKey groupBy"
	Rekeys bool   // it may change keys: an aggregation or join behind it repartitions first
}

// OperatorOf is the operator behind a generated name of a node or store; not ok
// for other names, and for operators that no Kafka Streams from 1.0 to 4.4 has
// (the constants of KI/KStreamImpl, KTableImpl, KGroupedStreamImpl,
// KGroupedTableImpl, CogroupedKStreamImpl).
func OperatorOf(name string) (Operator, bool) {
	g, ok := ParseGenerated(name)
	if !ok {
		return Operator{}, false
	}
	if g.Topic() != "" {
		return Operator{Name: "KTABLE-SOURCE", Calls: "table globalTable"}, true
	}
	op := operator(g.Operator())
	op.Name = g.Operator()
	return op, op.Calls != ""
}

func operator(name string) Operator {
	same := func(calls string) Operator { return Operator{Calls: calls} }
	rekeys := func(calls string) Operator { return Operator{Calls: calls, Rekeys: true} }
	family, word, _ := strings.Cut(name, "-")
	if strings.HasPrefix(word, "FK-JOIN-") && family == "KTABLE" {
		return same("join leftJoin")
	}
	switch word {
	case "AGGREGATE":
		return same("aggregate count")
	case "REDUCE":
		return same("reduce")
	case "MERGE":
		return same("merge join leftJoin outerJoin cogroup")
	case "SOURCE":
		return same("stream table globalTable")
	case "SINK":
		return same("to repartition")
	case "FILTER":
		return same("filter filterNot repartition")
	case "MAPVALUES":
		return same("mapValues")
	case "TRANSFORMVALUES":
		return same("transformValues flatTransformValues")
	case "JOINTHIS", "JOINOTHER", "OUTERTHIS", "OUTEROTHER", "OUTERSHARED":
		return same("join leftJoin outerJoin")
	}
	if family == "KTABLE" {
		switch word {
		case "SELECT":
			return rekeys("groupBy")
		case "SUPPRESS":
			return same("suppress")
		case "TOSTREAM":
			return same("toStream")
		}
		return Operator{}
	}
	switch word {
	case "MAP":
		return rekeys("map")
	case "FLATMAP":
		return rekeys("flatMap")
	case "KEY-SELECT":
		return rekeys("selectKey groupBy toStream")
	case "PROCESSOR":
		return rekeys("process")
	case "TRANSFORM":
		return rekeys("transform flatTransform")
	case "FLATMAPVALUES":
		return same("flatMapValues")
	case "PROCESSVALUES":
		return same("processValues")
	case "PEEK":
		return same("peek")
	case "FOREACH":
		return same("foreach")
	case "PRINTER":
		return same("print")
	case "BRANCH", "BRANCHCHILD":
		return same("split branch")
	case "JOIN":
		return same("join")
	case "LEFTJOIN":
		return same("leftJoin")
	case "WINDOWED":
		return same("join leftJoin outerJoin")
	case "REPARTITION":
		return same("repartition")
	case "TOTABLE":
		return same("toTable")
	}
	return Operator{}
}
