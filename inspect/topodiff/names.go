package topodiff

import "sstool/internal/streams"

// prefix is what stands before the names of internal topics: the application
// id, and the name of a named topology.
type prefix struct{ app, topology string }

// anyApp stands for an application id that is not known.
const anyApp = "<application.id>"

func (p prefix) known() bool { return p.app != "" }

// changelog is the full name of a store's changelog, for people.
func (p prefix) changelog(store string) string {
	return streams.NamedChangelogTopic(p.orAny(), p.topology, store)
}

// full is the full name of an internal topic, for people
// (PI/InternalTopologyBuilder.decorateTopic).
func (p prefix) full(topic string) string {
	if p.topology != "" {
		topic = p.topology + "-" + topic
	}
	return p.orAny() + "-" + topic
}

// orID is the application id in a command.
func (p prefix) orID() string {
	if p.app == "" {
		return "ID"
	}
	return p.app
}

func (p prefix) orAny() string {
	if p.app == "" {
		return anyApp
	}
	return p.app
}
