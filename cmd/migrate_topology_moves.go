package cmd

import (
	"fmt"
	"slices"

	"sstool/inspect/topodiff"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
	"sstool/migrate"
)

// topologyMoves turns the comparison of two topologies into what a migration
// moves.
type topologyMoves struct {
	app      string
	old, new *topology.Topology
	accept   []string
	exists   map[string]bool // topics of the cluster

	moves    []migrate.StoreMove
	topics   []migrate.TopicMove
	warnings []string
}

// take takes every store and topic that is the same under another name, or in
// another sub-topology.
func (m *topologyMoves) take(r *topodiff.Result) error {
	taken := map[string]bool{} // names that OLD uses
	for i := range r.Stores {
		if it := &r.Stores[i]; it.Old != nil {
			taken[it.Old.Name] = true
		}
	}
	for i := range r.Stores {
		if err := m.store(&r.Stores[i], taken); err != nil {
			return err
		}
	}
	taken = map[string]bool{}
	for i := range r.Topics {
		if it := &r.Topics[i]; it.Old != nil {
			taken[it.Old.Name] = true
		}
	}
	for i := range r.Topics {
		if err := m.topic(&r.Topics[i], taken); err != nil {
			return err
		}
	}
	if len(m.moves)+len(m.topics) == 0 {
		return op.Errorf(op.NotFound, "no store and no internal topic has got another name or another sub-topology: there is nothing to migrate").
			WithTry("sstool topology diff OLD NEW tells what the change does")
	}
	m.meetGlobals()
	return nil
}

// meetGlobals looks where tasks of one version are where the other one has a
// global store. From 4.3 on, Kafka Streams opens every task directory at its
// start with the stores that its own topology has under that number, and dies on
// a second one with the same global store
// (StateDirectory.initializeStartupStores).
func (m *topologyMoves) meetGlobals() {
	global := func(t *topology.Topology, id *int) bool {
		return id != nil && slices.ContainsFunc(t.Subtopologies, func(s topology.Subtopology) bool { return s.Global && s.ID == *id })
	}
	var said []int
	for i := range m.moves {
		x := &m.moves[i]
		x.MeetsGlobal = global(m.old, x.NewSub)
		if global(m.new, x.OldSub) && !slices.Contains(said, *x.OldSub) {
			said = append(said, *x.OldSub)
			m.warn("sub-topology %d is that of a global store in NEW: move the task directories with this number out of the application's directory before the new version starts, or Kafka Streams from 4.3 on does not start", *x.OldSub)
		}
	}
}

func (m *topologyMoves) store(it *topodiff.Item, taken map[string]bool) error {
	switch {
	case it.Old == nil:
		return nil
	case it.New == nil:
		m.warn("store %q is not in NEW: its state stays where it is", it.Old.Name)
		return nil
	case it.Has(topodiff.ContentMayDiffer):
		m.warn("store %q: %s", it.Old.Name, effectText(it, topodiff.ContentMayDiffer))
	}
	if it.Change == topodiff.Kept && !it.Moved {
		return nil
	}
	if it.Old.Global != it.New.Global {
		m.warn("store %q is a global store in one of the two only: it is not migrated", it.Old.Name)
		return nil
	}
	if err := m.certain(it); err != nil {
		return err
	}
	if it.Old.Name != it.New.Name && taken[it.New.Name] {
		return onto("store", it)
	}
	move := migrate.StoreMove{OldApp: m.app, NewApp: m.app, OldStore: it.Old.Name, NewStore: it.New.Name, Global: it.Old.Global}
	if !it.Old.Global {
		move.OldSub, move.NewSub = it.Old.Subtopology, it.New.Subtopology
	}
	move.OldTopic, move.NewTopic = m.changelog(it)
	m.moves = append(m.moves, move)
	return nil
}

// changelog is the changelog of a store under both names: its own, if the
// cluster has that; else the topic that it is a table of, which stays.
func (m *topologyMoves) changelog(it *topodiff.Item) (old, new string) {
	if topic := streams.ChangelogTopic(m.app, it.Old.Name); m.exists[topic] {
		return topic, streams.ChangelogTopic(m.app, it.New.Name)
	}
	if topic := m.source(it.Old); topic != "" && m.exists[topic] {
		return topic, topic
	}
	if !it.Old.Global {
		m.warn("store %q has no changelog in the cluster: only its directories are cloned", it.Old.Name)
	}
	return "", ""
}

// source is the one topic that a table or global store is filled from directly.
func (m *topologyMoves) source(in *topodiff.Instance) string {
	topics := []string{}
	index := m.old.Index()
	for _, name := range in.Processors {
		p := index[name]
		if p == nil {
			continue
		}
		for _, prev := range p.Prev {
			if n := index[prev]; n != nil && n.Kind == topology.Source {
				topics = append(topics, n.Topics...)
			}
		}
	}
	slices.Sort(topics)
	if topics = slices.Compact(topics); len(topics) == 1 {
		return topics[0]
	}
	return ""
}

func (m *topologyMoves) topic(it *topodiff.Item, taken map[string]bool) error {
	if it.Change != topodiff.Renamed || it.Old == nil || it.New == nil {
		if it.New == nil && it.Old != nil && it.Old.Topic != nil && m.exists[*it.Old.Topic] {
			m.warn("topic %s is not in NEW: records in it that are not processed yet never will be", *it.Old.Topic)
		}
		return nil
	}
	if it.Old.Topic == nil || it.New.Topic == nil || !m.exists[*it.Old.Topic] {
		return nil
	}
	if err := m.certain(it); err != nil {
		return err
	}
	if taken[it.New.Name] {
		return onto("topic", it)
	}
	m.topics = append(m.topics, migrate.TopicMove{Old: *it.Old.Topic, New: *it.New.Topic, Why: migrate.InternalTopicKind(m.app, *it.Old.Topic)})
	return nil
}

// certain refuses what is matched by a guess that nobody has confirmed.
func (m *topologyMoves) certain(it *topodiff.Item) error {
	if slices.Contains(m.accept, it.Old.Name) {
		return nil
	}
	for _, e := range it.Effects {
		if e.Code == topodiff.Ambiguous && e.Severity == topodiff.Warning {
			return op.Errorf(op.Precondition, "%q may be %q in NEW, but %s", it.Old.Name, it.New.Name, e.Text).
				WithTry("--accept %s if it is right; else give the stores names in NEW first", it.Old.Name)
		}
		if e.Code == topodiff.Ambiguous {
			m.warn("%q is taken to be %q in NEW: %s", it.Old.Name, it.New.Name, e.Text)
		}
	}
	if it.MatchedBy == "resemblance" {
		m.warn("%q is taken to be %q in NEW because it resembles it most: look whether that is right", it.Old.Name, it.New.Name)
	}
	return nil
}

// onto refuses a new name that is another's old one.
func onto(what string, it *topodiff.Item) error {
	call := ""
	for _, f := range it.Fixes {
		if f.Kind == "name" && f.Call != "" {
			call = f.Call
			break
		}
	}
	e := op.Errorf(op.Precondition, "%s %q would be called %q, which is the old name of another %s: numbers that shift onto each other cannot be moved by name", what, it.Old.Name, it.New.Name, what)
	if call != "" {
		return e.WithTry("in NEW, give it a name that OLD does not have, or its old one with %s; sstool lint NEW names all that may shift", call)
	}
	return e.WithTry("in NEW, give it a name that OLD does not have; sstool lint NEW names all that may shift")
}

func effectText(it *topodiff.Item, code string) string {
	for _, e := range it.Effects {
		if e.Code == code {
			return e.Text
		}
	}
	return ""
}

func (m *topologyMoves) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}
