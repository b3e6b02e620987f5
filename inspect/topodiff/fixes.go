package topodiff

import (
	"fmt"
	"strings"

	"sstool/internal/streams"
	"sstool/internal/topology"
)

// keepStore adds the ways to keep a store's rows, the best first.
func (d *differ) keepStore(it *Item, v, w *vertex) {
	if it.Has(ContentMayDiffer) {
		it.fix("reset", "", "if its rows still mean the same, keep the name as below; else reset needed")
	}
	call, text := keepingStore(v)
	it.fix("name", call, text)
	switch {
	case d.newNames.topology == "" && streams.ValidateTopic(v.name) == nil && streams.ValidateTopic(w.name) == nil:
		d.carry(it, v, w)
	case call == "":
		it.fix("reset", "", "reset needed: start with an empty store, or process the input again")
	}
}

// carry adds the way to take a store's rows to its new name. Both names may be
// pasted into a shell.
func (d *differ) carry(it *Item, v, w *vertex) {
	switch {
	case it.Has(StateTakenOver):
		it.fix("name", "", "give it a name that no store of the old version has: sstool rename moves its rows there")
	case it.Moved:
		it.fix("rename", "sstool migrate topology OLD NEW --application-id "+d.newNames.orID(),
			"moves the rows and the directories, with those of all that is renamed or moved")
	default:
		it.fix("rename", fmt.Sprintf("sstool rename %s %s --application-id %s", v.name, w.name, d.newNames.orID()), "moves the rows to the new name")
	}
}

// materialized is the call that names most stores.
const materialized = `Materialized.as("%s")`

// keepingStore is the call of the DSL that gives a store the name it had. Calls
// that derive the name put a suffix behind it, so they cannot give every name.
func keepingStore(v *vertex) (call, text string) {
	generated := !v.given()
	switch topology.Role(v.role) {
	case topology.JoinThis, topology.JoinOther:
		if generated {
			side := "This"
			if v.role == string(topology.JoinOther) {
				side = "Other"
			}
			return fmt.Sprintf(`StreamJoined.with`+side+`StoreSupplier(Stores.persistentWindowStore("%s", …, true))`, v.name),
				"keeps the name: retention and window size are those of the JoinWindows, and duplicates are retained"
		}
		return fmt.Sprintf(`StreamJoined.withStoreName("%s")`, joinStem(v.name)), "keeps the name"
	case topology.JoinShared:
		if generated {
			return "", "no call gives the name " + v.name + ": StreamJoined derives others from names that are given"
		}
		return fmt.Sprintf(`StreamJoined.withStoreName("%s")`, joinStem(v.name)), "keeps the name"
	case topology.Suppression:
		if stem, ok := strings.CutSuffix(v.name, "-store"); ok && !generated {
			return fmt.Sprintf(`Suppressed.withName("%s")`, stem), "keeps the name"
		}
		return "", "no call gives the name " + v.name + ": Suppressed.withName puts -store behind the name"
	case topology.FKSubscription:
		if stem, ok := strings.CutSuffix(v.name, "-subscription-store"); ok {
			return fmt.Sprintf(`TableJoined.as("%s")`, stem), "keeps the name"
		}
		return "", "no call gives the name " + v.name + ": TableJoined.as puts -subscription-store behind the name"
	case topology.GraceBuffer:
		if stem, ok := strings.CutSuffix(v.name, "-Buffer"); ok {
			return fmt.Sprintf(`Joined.as("%s")`, stem), "keeps the name"
		}
	}
	if generated || v.role != "" {
		text = "keeps the name"
		if generated {
			text += "; a generated name may be given by hand"
		}
		return fmt.Sprintf(materialized, v.name), text
	}
	return fmt.Sprintf(materialized, v.name), "keeps the name (with the Processor API, the name in its StoreBuilder)"
}

// joinStem is the name that was given to a stream-stream join's stores.
func joinStem(name string) string {
	for _, s := range []string{"-left-shared-join-store", "-outer-shared-join-store", "-outer-this-join-store", "-outer-other-join-store", "-this-join-store", "-other-join-store"} {
		if stem, ok := strings.CutSuffix(name, s); ok {
			return stem
		}
	}
	return name
}

// keepTopic adds the call that gives an internal topic the name it had.
func (d *differ) keepTopic(it *Item, v, w *vertex) {
	stem, ok := strings.CutSuffix(v.name, "-repartition")
	join, fk := strings.CutSuffix(v.name, "-subscription-registration-topic")
	if !fk {
		join, fk = strings.CutSuffix(v.name, "-subscription-response-topic")
	}
	switch {
	case fk:
		it.fix("name", fmt.Sprintf(`TableJoined.as("%s")`, join), "keeps the name")
	case !ok:
		it.fix("name", "", "no call gives the name "+v.name+": TableJoined.as puts other words behind the name")
	case strings.Contains(stem, "STATE-STORE-"):
		it.fix("name", fmt.Sprintf(`Grouped.as("%s")`, stem), "keeps the name; so does a store of that name behind an unnamed grouping")
	case strings.HasPrefix(stem, "KSTREAM-REPARTITION-") || v.given() && !w.given():
		it.fix("name", givenCall(v, stem), "keeps the name")
	case !v.given():
		it.fix("name", fmt.Sprintf(`Named.as("%s")`, stem), "keeps the name: on the operation the topic is named after, the last one before the repartitioning")
	default:
		it.fix("name", givenCall(v, stem), "keeps the name")
	}
}

// givenCall is the call that gives a repartition topic a name, as far as the
// name tells which.
func givenCall(v *vertex, stem string) string {
	if join, ok := strings.CutSuffix(stem, "-left"); ok {
		return fmt.Sprintf(`StreamJoined.withName("%s")`, join)
	}
	if join, ok := strings.CutSuffix(stem, "-right"); ok {
		return fmt.Sprintf(`StreamJoined.withName("%s")`, join)
	}
	if !v.given() {
		return fmt.Sprintf(`Repartitioned.as("%s")`, stem)
	}
	return fmt.Sprintf(`Grouped.as("%s"), Joined.as, or Repartitioned.as`, stem)
}

// howToDrain is the note beside drain fixes.
const howToDrain = "to drain: stop what writes the input topics, wait until the group's lag is 0 on them and on the internal topics, then stop the old version and start the new one"

// drain adds the way that always works for records in flight.
func (d *differ) drain(it *Item, v *vertex) {
	it.fix("drain", "", fmt.Sprintf("drain %s before the new version starts", d.oldNames.full(v.name)))
}

// replay adds how to be ready for a replay that nothing avoids.
func (d *differ) replay(it *Item, w *vertex) {
	it.fix("replay", fmt.Sprintf("sstool restore --measure --bootstrap-server HOST:PORT --application-id %s --store %s", d.newNames.orID(), w.name),
		fmt.Sprintf("tells how long the replay takes, nothing is lost; sstool restore --into with --subtopology %d builds the directories before the start", w.sub))
}
