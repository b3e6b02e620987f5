package orphans

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sstool/internal/kafka"
	"sstool/internal/streams"
)

// findTopics decides on every topic that looks like an internal one.
func (r *run) findTopics() {
	for _, name := range slices.Sorted(maps.Keys(r.topics)) {
		t := r.topics[name]
		if t.Internal {
			continue
		}
		owners := r.owners(name)
		switch {
		case len(owners) == 0:
			if r.everything && looksInternal(name) && !r.used(name, nil) {
				r.addTopic(t, nil, Unclear, "no application is known by whose id it begins: it may be left over, or be a topic of your own")
			}
		case !slices.ContainsFunc(owners, func(a *app) bool { return a.examined }):
		case r.used(name, owners):
		default:
			r.decideTopic(t, owners)
		}
	}
}

// owners are the applications that may have made a topic, by its name. One
// alone proves nothing: my-app-v2-x-changelog may be of my-app or of my-app-v2.
func (r *run) owners(topic string) []*app {
	var out []*app
	for _, a := range r.apps {
		if streams.IsInternalTopic(a.id, topic) {
			out = append(out, a)
		}
	}
	return out
}

// looksInternal says whether some application's internal topic could be called
// so.
func looksInternal(topic string) bool {
	for i := strings.IndexByte(topic, '-'); i > 0 && i < len(topic); {
		if streams.IsInternalTopic(topic[:i], topic) {
			return true
		}
		next := strings.IndexByte(topic[i+1:], '-')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// used says whether something is known to use the topic: a topology, a running
// group, or an owner of which no topology is known and that has committed
// offsets for it.
func (r *run) used(topic string, owners []*app) bool {
	for _, a := range r.apps {
		switch {
		case a.uses(topic):
			return true
		case a.group != nil && a.group.Members > 0 && slices.Contains(a.group.Topics, topic):
			return true
		case slices.Contains(owners, a) && !a.decides() && r.committed(a.id, topic):
			return true
		}
	}
	return false
}

func (r *run) committed(group, topic string) bool {
	return slices.ContainsFunc(r.commits[group], func(o kafka.GroupOffset) bool { return o.Topic == topic })
}

// strangers are groups of other applications that have read the topic.
func (r *run) strangers(topic string, owners []*app) []string {
	var out []string
	for _, a := range r.apps {
		if !slices.Contains(owners, a) && r.committed(a.id, topic) {
			out = append(out, a.id)
		}
	}
	return out
}

// decideTopic gives the verdict on a topic that nothing is known to use.
func (r *run) decideTopic(t *kafka.TopicInfo, owners []*app) {
	var deny, silent, absent []*app // not theirs; may be theirs; may have been theirs, and have no group
	for _, a := range owners {
		switch {
		case a.decides():
			deny = append(deny, a)
		case a.absent() && r.groupsErr == nil && a.examined && !slices.Contains(r.o.Others, a.id):
			absent = append(absent, a)
		default:
			silent = append(silent, a)
		}
	}
	readers := r.strangers(t.Name, owners)
	switch {
	case len(readers) > 0:
		r.addTopic(t, owners, Unclear, fmt.Sprintf("%s, but group %s has committed offsets for it: somebody else reads it", denial(deny), strings.Join(readers, ", ")))
	case len(silent) > 0 && len(owners) == 1:
		if a := silent[0]; r.notSubscribed(a, t.Name) {
			r.addTopic(t, owners, Likely, fmt.Sprintf("its group is running with %d members, and none of them reads it", a.group.Members))
		} else {
			a.undecided++
		}
	case len(silent) > 0 && len(deny)+len(absent) == 0:
		for _, a := range silent {
			a.undecided++
		}
	case len(silent) > 0:
		why := []string{}
		if len(deny) > 0 {
			why = append(why, denial(deny))
		}
		if len(absent) > 0 {
			why = append(why, noGroup(absent))
		}
		why = append(why, fmt.Sprintf("it may be of %s, whose topology is not known", ids(silent)))
		r.addTopic(t, owners, Unclear, "cannot be told apart: "+strings.Join(why, "; "))
	case len(absent) > 0:
		why := noGroup(absent)
		if len(deny) > 0 {
			why = denial(deny) + "; " + why
		}
		r.addTopic(t, owners, Likely, why)
	case r.groupsErr != nil:
		r.addTopic(t, owners, Likely, denial(deny)+"; whether a group reads it is not known")
	default:
		r.addTopic(t, owners, Unused, denial(deny))
	}
}

// notSubscribed says whether a running group surely does not read a topic that
// only its application reads: changelogs are read without the group.
func (r *run) notSubscribed(a *app, topic string) bool {
	return a.group != nil && a.group.Members > 0 && len(a.group.Topics) > 0 && a.group.State == "Stable" && !strings.HasSuffix(topic, "-changelog")
}

// denial says which topologies do not have a name.
func denial(deny []*app) string {
	var with, gone []*app
	for _, a := range deny {
		if a.gone {
			gone = append(gone, a)
		} else {
			with = append(with, a)
		}
	}
	var out []string
	if len(with) > 0 {
		out = append(out, fmt.Sprintf("the topology of %s does not have it", ids(with)))
	}
	if len(gone) > 0 {
		out = append(out, fmt.Sprintf("application %s is gone", ids(gone)))
	}
	if len(out) == 0 {
		return "no topology has it"
	}
	return strings.Join(out, "; ")
}

func noGroup(absent []*app) string {
	return fmt.Sprintf("there is no group %s: it runs nowhere and keeps no offsets, which says not that its state may go", ids(absent))
}

func ids(apps []*app) string {
	var out []string
	for _, a := range apps {
		out = append(out, a.id)
	}
	return strings.Join(out, ", ")
}

func (r *run) addTopic(t *kafka.TopicInfo, owners []*app, verdict, why string) {
	x := Orphan{Kind: KindTopic, Name: t.Name, Verdict: verdict, Why: why, Candidates: []string{}, Deletable: true}
	if t.ID != [16]byte{} {
		x.TopicID = base64.RawURLEncoding.EncodeToString(t.ID[:]) // as Kafka prints it
	}
	for _, p := range t.Partitions {
		x.Partitions = append(x.Partitions, p.Partition)
	}
	for _, a := range owners { // by id, so that the longest of two that begin alike comes last
		a.candidate = true
		if len(owners) > 1 {
			x.Candidates = append(x.Candidates, a.id)
		}
		if a.examined || x.ApplicationID == "" {
			x.ApplicationID = a.id
		}
	}
	r.add(x)
}
