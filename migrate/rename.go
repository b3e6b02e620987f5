package migrate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// RenameOptions say which stores get which names.
type RenameOptions struct {
	ApplicationID string
	Names         []NamePair
	StateDir      string // where a store without a changelog may be found, to say so; may be ""
	// Only renames just what was named: nothing that Kafka Streams derives from
	// the name.
	Only bool
}

// NamePair is an old name and a new one: of a store, or of an operator whose
// stores and topics are named after it.
type NamePair struct{ Old, New string }

// A derivation is an ending that Kafka Streams gives to a name of the
// application's to name something of its own (KI/KStreamImplJoin, KTableImpl,
// OuterStreamJoinStoreFactory).
type derivation struct {
	ending string // of the store, or of the topic without the application id
	why    TopicKind
}

var storeDerivations = []string{
	"-this-join-store", "-outer-this-join-store", "-other-join-store", "-outer-other-join-store",
	"-left-shared-join-store", "-outer-shared-join-store", "-subscription-store", "-Buffer", "-store",
}

var topicDerivations = []derivation{
	{"-repartition", RepartitionTopic}, {"-left-repartition", RepartitionTopic}, {"-right-repartition", RepartitionTopic},
	{"-subscription-registration-topic", RegistrationTopic}, {"-subscription-response-topic", ResponseTopic},
}

// ResolveRename finds out what a rename moves: the store of that name, or all
// that is named after an operator, as far as it exists. It is looked up name by
// name, never by a prefix.
func ResolveRename(ctx context.Context, c *kafka.Client, o RenameOptions) ([]StoreMove, []TopicMove, error) {
	if err := streams.ValidateApplicationID(o.ApplicationID); err != nil {
		return nil, nil, err
	}
	all, err := c.Topics(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := &renaming{app: o.ApplicationID, stateDir: o.StateDir, exists: map[string]bool{}}
	for _, t := range all {
		r.exists[t.Name] = true
	}
	for _, n := range o.Names {
		for _, name := range []string{n.Old, n.New} {
			if err := streams.ValidateStoreName(o.ApplicationID, name); err != nil {
				return nil, nil, err
			}
		}
		if n.Old == n.New {
			return nil, nil, op.Errorf(op.Usage, "the old name and the new one are both %q", n.Old)
		}
		if err := r.resolve(n, o.Only); err != nil {
			return nil, nil, err
		}
	}
	return r.moves, r.topics, nil
}

type renaming struct {
	app, stateDir string
	exists        map[string]bool
	moves         []StoreMove
	topics        []TopicMove
}

func (r *renaming) resolve(n NamePair, only bool) error {
	store := r.store(n.Old, n.New)
	switch {
	case only && store:
		return nil
	case store && r.generatedJoin(n), store && r.sibling(n):
		return nil
	case store:
		// The repartition topic in front of an aggregation is named after its store
		// unless the application names it.
		r.topic(n.Old+"-repartition", n.New+"-repartition", RepartitionTopic)
		return nil
	}
	found := false
	if !only {
		found = r.operator(n.Old, n.New)
	}
	if found {
		return nil
	}
	if err := r.unlogged(n.Old); err != nil {
		return err
	}
	return r.unknown(n.Old)
}

// unlogged refuses a store that has directories and no changelog of its own. Its
// name does not tell whether a source topic serves as changelog, and which, or
// whether the changelog was deleted: the topologies do.
func (r *renaming) unlogged(store string) error {
	if r.stateDir == "" {
		return nil
	}
	found, err := findTasks(filepath.Join(r.stateDir, r.app))
	if err != nil {
		return err
	}
	for i := range found.tasks {
		if f := found.tasks[i].store(store); f != nil {
			return op.Errorf(op.Precondition, "store %q has a directory (%s) and no changelog %s: which topic it is restored from, if any, its name does not tell", store, f.Dir, streams.ChangelogTopic(r.app, store)).
				WithTry("keep its name in the new version, or use sstool migrate topology OLD NEW for all names at once: the two topologies say whether a source topic serves as changelog, and it clones the directories. Under another name Kafka Streams up to 4.2 would take the new, empty store for complete. If it has a changelog, see that it exists, and that the user may DESCRIBE it")
		}
	}
	return nil
}

// store moves a store that has a changelog.
func (r *renaming) store(old, new string) bool {
	topic := streams.ChangelogTopic(r.app, old)
	if !r.exists[topic] {
		return false
	}
	m := StoreMove{OldApp: r.app, NewApp: r.app, OldStore: old, NewStore: new, OldTopic: topic, NewTopic: streams.ChangelogTopic(r.app, new)}
	if !slices.Contains(r.moves, m) {
		r.moves = append(r.moves, m)
	}
	return true
}

func (r *renaming) topic(old, new string, why TopicKind) bool {
	t := TopicMove{Old: r.app + "-" + old, New: r.app + "-" + new, Why: why}
	if !r.exists[t.Old] {
		return false
	}
	if !slices.Contains(r.topics, t) {
		r.topics = append(r.topics, t)
	}
	return true
}

// operator moves all that is named after an operator.
func (r *renaming) operator(old, new string) bool {
	found := false
	for _, e := range storeDerivations {
		found = r.store(old+e, new+e) || found
	}
	for _, d := range topicDerivations {
		found = r.topic(old+d.ending, new+d.ending, d.why) || found
	}
	return found
}

// sibling moves the other stores of a join, of which one was named: their names
// have the same beginning.
func (r *renaming) sibling(n NamePair) bool {
	for _, e := range storeDerivations {
		oldBase, a := strings.CutSuffix(n.Old, e)
		newBase, b := strings.CutSuffix(n.New, e)
		if a && b && oldBase != "" && newBase != "" && (strings.HasSuffix(e, "-join-store") || e == "-subscription-store") {
			r.operator(oldBase, newBase)
			return true
		}
	}
	return false
}

// generatedJoin moves the stores of a join that had no name: the numbers of the
// others follow from that of its first.
func (r *renaming) generatedJoin(n NamePair) bool {
	g, ok := topology.ParseGenerated(n.Old)
	if !ok {
		return false
	}
	switch op := g.Operator(); {
	case g.Suffix == "-store" && (op == "KSTREAM-JOINTHIS" || op == "KSTREAM-OUTERTHIS"):
		base, ending := "", ""
		for _, e := range []string{"-this-join-store", "-outer-this-join-store"} {
			if b, ok := strings.CutSuffix(n.New, e); ok {
				base, ending = b, e
			}
		}
		if base == "" {
			return false
		}
		right := ending == "-outer-this-join-store" // KStreamImplJoin: rightOuter
		r.store(fmt.Sprintf("KSTREAM-JOINOTHER-%010d-store", g.Number+1), base+"-other-join-store")
		r.store(fmt.Sprintf("KSTREAM-OUTEROTHER-%010d-store", g.Number+1), base+"-outer-other-join-store")
		shared := "-left-shared-join-store"
		if right {
			shared = "-outer-shared-join-store"
		}
		r.store(fmt.Sprintf("KSTREAM-OUTERSHARED-%010d-store", g.Number), base+shared)
		return true
	case op == "KTABLE-FK-JOIN-SUBSCRIPTION" && g.IsStore():
		base, ok := strings.CutSuffix(n.New, "-subscription-store")
		if !ok {
			return false
		}
		r.topic(fmt.Sprintf("KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-%010d-topic", g.Number-4), base+"-subscription-registration-topic", RegistrationTopic)
		r.topic(fmt.Sprintf("KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-%010d-topic", g.Number+4), base+"-subscription-response-topic", ResponseTopic)
		return true
	}
	return false
}

// unknown says that nothing is called so.
func (r *renaming) unknown(name string) error {
	var names []string
	for t := range r.exists {
		if s, ok := streams.StoreOfChangelog(r.app, t); ok {
			names = append(names, s)
		}
	}
	e := op.Errorf(op.NotFound, "application %q has no changelog %s, and no internal topic is named after %q (or the user may not DESCRIBE it)",
		r.app, streams.ChangelogTopic(r.app, name), name)
	if near := kafka.Nearest(name, names, 3); len(near) > 0 {
		return e.WithTry("its nearest stores: %s", strings.Join(near, ", "))
	}
	return e.WithTry("check --application-id; a store without a changelog of its own (logging disabled, an optimised table, a global store) keeps its name in the new version, or sstool migrate topology moves it along with the others")
}
