package orphans

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// app is an application by whose id things may be named.
type app struct {
	id         string
	examined   bool
	candidate  bool // something may be its own
	gone       bool
	held       bool // the topology is what brokers hold
	topologies []*topology.Topology
	from       string
	group      *kafka.GroupUse // nil: there is none, or groupErr
	groupErr   error

	names     map[string]bool // topics that its topologies derive or name
	sources   map[string]bool // those that it reads
	patterns  []*regexp.Regexp
	undecided int
}

// decides says whether it is known which names the application uses.
func (a *app) decides() bool { return a.gone || len(a.topologies) > 0 }

// absent says whether the group is known not to exist.
func (a *app) absent() bool { return a.group == nil && a.groupErr == nil }

// learn takes a topology's names over.
func (a *app) learn(t *topology.Topology, from string, held bool) error {
	a.topologies, a.held = append(a.topologies, t), held
	if a.from != from {
		a.from = strings.TrimPrefix(a.from+", "+from, ", ")
	}
	prefix := a.id + "-"
	if t.Name != "" {
		prefix += t.Name + "-"
	}
	for _, x := range t.InternalTopics(a.id) {
		a.names[x.Name] = true
	}
	// Whatever the text names is in use, also what only looks internal.
	for _, n := range t.All() {
		for _, name := range n.Topics {
			a.names[name], a.names[prefix+name] = true, true
			if n.Kind == topology.Source {
				a.sources[name], a.sources[prefix+name] = true, true
			}
		}
		if n.Pattern != "" {
			p, err := regexp.Compile("^(?:" + n.Pattern + ")$")
			if err != nil {
				return op.Errorf(op.Usage, "%s: the pattern %q of %s cannot be read, so that what it matches is not known: %w", from, n.Pattern, n.Name, err).
					WithTry("--application-id of other applications, and no topology of this one")
			}
			a.patterns = append(a.patterns, p)
		}
	}
	return nil
}

// names says whether a topology derives or names the topic.
func (a *app) uses(topic string) bool { return a.names[topic] || a.matches(topic) }

// reads says whether a topology has the topic as a source.
func (a *app) reads(topic string) bool { return a.sources[topic] || a.matches(topic) }

func (a *app) matches(topic string) bool {
	return slices.ContainsFunc(a.patterns, func(p *regexp.Regexp) bool { return p.MatchString(topic) })
}

// knowApps collects all ids there are, and what each uses.
func (r *run) knowApps(ctx context.Context) error {
	var ids []string
	for _, t := range r.o.Topologies {
		ids = append(ids, t.ApplicationID)
	}
	ids = slices.Concat(ids, r.o.Apps, r.o.Gone, r.o.Others)
	for _, id := range ids {
		if err := streams.ValidateApplicationID(id); err != nil {
			return err
		}
	}
	if r.tree != nil {
		for _, a := range r.tree.Apps {
			if a.ID != "" {
				ids = append(ids, a.ID)
			}
		}
	}
	for id := range r.groups {
		ids = append(ids, id)
	}
	for id := range r.groupErrs {
		ids = append(ids, id)
	}
	for name := range r.topics {
		if id := transientID(name); id != "" && !slices.ContainsFunc(ids, func(id string) bool { return streams.IsInternalTopic(id, name) }) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		a := &app{id: id, names: map[string]bool{}, sources: map[string]bool{}, gone: slices.Contains(r.o.Gone, id)}
		a.group, a.groupErr = r.groups[id], r.groupErrs[id]
		if r.o.Client != nil && r.groupsErr != nil {
			a.groupErr = r.groupsErr
		}
		r.apps = append(r.apps, a)
	}
	for _, t := range r.o.Topologies {
		if err := r.app(t.ApplicationID).learn(t.Topology, t.From, false); err != nil {
			return err
		}
	}
	r.examine()
	for _, a := range r.apps {
		if err := r.askHeld(ctx, a); err != nil {
			return err
		}
		if a.gone && len(a.topologies) > 0 && !a.held {
			return op.Errorf(op.Usage, "%s is gone, and has a topology", a.id).WithTry("give one of --gone and --topology for it")
		}
		if a.gone && a.group != nil && a.group.Members > 0 {
			return op.Errorf(op.Precondition, "application %q is said to be gone, and its group has %d members (%s)", a.id, a.group.Members, a.group.State).WithTry("stop every instance first")
		}
	}
	return r.checkNamed()
}

// examine marks the applications whose orphans are looked for.
func (r *run) examine() {
	given := r.o.Apps
	if len(given) == 0 {
		given = slices.Clone(r.o.Gone)
		for _, t := range r.o.Topologies {
			given = append(given, t.ApplicationID)
		}
		if r.tree != nil {
			for _, a := range r.tree.Apps {
				given = append(given, a.ID)
			}
		}
	}
	r.everything = len(given) == 0
	for _, a := range r.apps {
		if a.examined = slices.Contains(given, a.id); r.everything {
			a.examined = r.ownsTopics(a.id)
		}
	}
}

// ownsTopics says whether a topic looks like one of the application's.
func (r *run) ownsTopics(id string) bool {
	for name := range r.topics {
		if streams.IsInternalTopic(id, name) {
			return true
		}
	}
	return false
}

// askHeld asks brokers for the topology of a group of the streams protocol.
func (r *run) askHeld(ctx context.Context, a *app) error {
	if a.decides() || a.group == nil || a.group.Protocol != "streams" {
		return nil
	}
	m, err := r.o.Client.StreamsTopology(ctx, a.id)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.unmeasured("the topology of group "+a.id, err)
		return nil
	}
	for i := range m.Topologies {
		if err := a.learn(&m.Topologies[i], m.File, true); err != nil {
			return err
		}
	}
	return nil
}

// traced says whether anything is there of an id.
func (r *run) traced(id string) bool {
	a := r.app(id)
	onDisk := r.tree != nil && slices.ContainsFunc(r.tree.Apps, func(t *inspect.App) bool { return t.ID == id })
	return a.group != nil || a.groupErr != nil || onDisk || r.ownsTopics(id)
}

// checkNamed refuses an id of which there is no trace: it is mistyped.
func (r *run) checkNamed() error {
	for _, id := range r.o.Gone { // it may be deleted already: that is success
		if !r.traced(id) {
			r.sink.Warn(id, "--gone "+id+": there is no group, no topic and no directory of it, or no more")
		}
	}
	for _, id := range r.o.Apps {
		if r.app(id).decides() || r.traced(id) {
			continue
		}
		e := op.Errorf(op.NotFound, "application %q: there is no group, no topic and no directory of it", id)
		var ids []string
		for _, o := range r.apps {
			if o.id != id {
				ids = append(ids, o.id)
			}
		}
		if near := kafka.Nearest(id, ids, 3); len(near) > 0 {
			return e.WithTry("the nearest: %s", strings.Join(near, ", "))
		}
		return e
	}
	return nil
}

// transient begins the ids of queries that ksqlDB runs for one answer
// (TransientQueryMetadata: <service>transient_<query>_<time in ms>).
const transient = "transient_"

func temporary(id string) bool { return strings.Contains(id, transient) }

// transientID is the application id at the beginning of a topic's name when it
// is that of a transient query: it ends with a time, which nothing else does.
func transientID(topic string) string {
	at := strings.Index(topic, transient)
	if at < 0 {
		return ""
	}
	for i := at + len(transient); i < len(topic); i++ {
		if topic[i] != '-' {
			continue
		}
		digits := 0
		for digits < i && topic[i-1-digits] >= '0' && topic[i-1-digits] <= '9' {
			digits++
		}
		if digits >= 10 && topic[i-1-digits] == '_' && streams.IsInternalTopic(topic[:i], topic) {
			return topic[:i]
		}
	}
	return ""
}
