package spec

import (
	"fmt"
	"slices"
	"strings"

	"sstool/internal/streams"
)

// resolveTopics says for each store which topic it is restored from. Usual is
// the application's changelog of its name. A topic left over belongs to a
// store left over: an optimised KTable's, or a global store's; a store left
// over without a topic is not logged.
func (d *dirScan) resolveTopics() {
	app := d.spec.ApplicationID
	left := map[int][]string{} // topics nobody claimed, by sub-topology; -1 global
	for _, t := range d.topics {
		name, ok := streams.StoreOfChangelog(app, t.name)
		if f := d.stores[name]; ok && t.sub >= 0 && f != nil {
			f.logged = true
			continue
		}
		left[t.sub] = append(left[t.sub], t.name)
	}
	open := map[int][]*found{} // stores without a topic
	for _, key := range d.names() {
		f := d.stores[key]
		own := streams.ChangelogTopic(app, f.name)
		if !f.global && f.topics[own] {
			f.logged = true
		}
		if f.logged {
			continue
		}
		if len(f.topics) == 1 {
			for t := range f.topics {
				f.topic, f.topicFrom = t, certain("offsets family of the store")
			}
			continue
		}
		switch {
		case f.global:
			open[-1] = append(open[-1], f)
		case len(f.subs) == 1:
			for sub := range f.subs {
				open[sub] = append(open[sub], f)
			}
		}
	}
	for sub, stores := range open {
		assign(stores, left[sub], sub < 0)
	}
}

// assign gives the topics left over in a sub-topology to the stores left over.
func assign(stores []*found, topics []string, global bool) {
	slices.Sort(topics)
	for _, f := range stores {
		t, ok := topicOfStore(f.name)
		if i := slices.Index(topics, t); ok && i >= 0 {
			f.topic, f.topicFrom = t, certain(".checkpoint, and the name Kafka Streams gives a store of this topic")
			topics = slices.Delete(topics, i, i+1)
		}
	}
	stores = slices.DeleteFunc(slices.Clone(stores), func(f *found) bool { return f.topic != "" })
	if len(stores) == 1 && len(topics) == 1 {
		stores[0].topic = topics[0]
		stores[0].topicFrom = Source{".checkpoint: the only store and the only topic that are left", global}
		return
	}
	for _, f := range stores {
		switch {
		case len(topics) > 0:
			f.topicNote = fmt.Sprintf("its topic may be one of %s: .checkpoint does not say whose they are", strings.Join(topics, ", "))
		case f.global:
		case f.offsets:
			f.unlogged = "its offsets family has no changelog"
		case f.checkpoint:
			f.unlogged = ".checkpoint has no line for it"
		}
	}
}
