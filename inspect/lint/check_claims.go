package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sstool/internal/streams"
)

// claim is a topic that a topology will use, by its name in Kafka.
type claim struct {
	v        *view
	topic    string
	kind     string // kindChangelog, kindRepartition, kindFK or kindTopic
	subject  string // the store, or the topic
	line     int
	existing bool // of the cluster, not of a topology
	again    bool // of one of those: a topology has it
}

func (c claim) internal() bool { return c.kind != kindTopic }

// String says what the topic is.
func (c claim) String() string {
	switch c.kind {
	case kindChangelog:
		return "the changelog of store " + c.subject
	case kindTopic:
		return "topic " + c.topic
	}
	return "the " + c.kind + " " + c.subject
}

func (v *view) claims() []claim {
	out := make([]claim, 0, len(v.stores)+len(v.topics))
	for _, s := range v.stores {
		if !s.Global && (s.first == nil || s == v.storeOf(s.Name)) && !v.restoredFromSource(s) {
			out = append(out, claim{v: v, topic: s.changelog, kind: kindChangelog, subject: s.Name, line: s.Line})
		}
	}
	for _, f := range v.topics {
		out = append(out, claim{v: v, topic: v.topic(f), kind: f.kind, subject: f.name, line: f.line})
	}
	return out
}

// checkClaims compares all topic names: C2, C3, C4, C5, C6.
func (r *run) checkClaims() {
	var all []claim
	for _, v := range r.views {
		claims := v.claims()
		for _, c := range claims {
			r.checkTopicName(c)
		}
		r.checkWriters(v)
		all = append(all, claims...)
	}
	same := sameTopic(all, r.checkMetrics(all))
	r.checkSame(all, same)
	r.checkForeign(all, same)
	r.checkPrefixes()
}

// checkTopicName is C3.
func (r *run) checkTopicName(c claim) {
	err := streams.ValidateTopic(c.topic)
	if err == nil {
		return
	}
	f := r.report(c.v, "C3", c.line, cmp.Or(kindOfClaim(c), kindTopic), c.subject, "%s cannot be created: %v", c, err)
	if c.kind == kindTopic {
		f.Message = err.Error()
	}
	if over := len(c.topic) - maxTopic; over > 0 {
		f.Fix = "Make the name " + count(over, "character") + " shorter, or the application id."
	}
}

const maxTopic = 249 // org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH

// kindOfClaim is the subject's kind: of a changelog it is the store.
func kindOfClaim(c claim) string {
	if c.kind == kindChangelog {
		return kindStore
	}
	return c.kind
}

// checkSame looks for one topic that two things will use: C4, and C5 when one
// is the user's.
func (r *run) checkSame(all []claim, same map[string][]claim) {
	for _, c := range all {
		for _, o := range same[c.topic] {
			switch {
			case o.v == c.v && o.kind == c.kind && o.subject == c.subject:
			case !c.internal() && o.internal():
				r.report(c.v, "C5", c.line, kindTopic, c.topic, "topic %s is %s of application %s", c.topic, o, o.v.appName()).with(o.v, o.line, o.subject)
			case c.internal() && o.internal() && before(o.v, c.v) && (o.v.id != c.v.id || o.v.t.Name != c.v.t.Name):
				r.report(c.v, "C4", c.line, kindOfClaim(c), c.subject, "%s of %s is topic %s, and so is %s of %s", c, c.v.appName(), c.topic, o, o.v.appName()).
					with(o.v, o.line, o.subject)
			}
		}
	}
	if r.o.Facts == nil {
		return
	}
	for _, c := range all {
		if _, exists := r.o.Facts.Topics[c.topic]; !exists || !c.internal() || c.v.id == "" {
			continue
		}
		for _, g := range r.o.Facts.Groups {
			if g != c.v.id && strings.HasPrefix(c.topic, g+"-") && streams.IsInternalTopic(g, c.topic) && !strings.HasPrefix(c.v.id, g+"-") {
				f := r.report(c.v, "C4", c.line, kindOfClaim(c), c.subject, "%s of %s is topic %s, which exists and may be application %s's", c, c.v.appName(), c.topic, g)
				f.Severity = Warning
				f.Others = append(f.Others, Place{r.o.Facts.From, 0, g})
			}
		}
	}
}

// sameTopic are the claims on topics that have more than one, of those whose
// name is known; near are those that something else is called like.
func sameTopic(all []claim, near map[string]bool) map[string][]claim {
	out := map[string][]claim{}
	for _, c := range all {
		if (c.v.id != "" || !c.internal()) && near[unified(c.topic)] {
			out[c.topic] = append(out[c.topic], c)
		}
	}
	maps.DeleteFunc(out, func(_ string, of []claim) bool { return len(of) < 2 })
	return out
}

// before orders views so that a clash is reported once.
func before(a, b *view) bool {
	return cmp.Or(strings.Compare(a.group(), b.group()), strings.Compare(a.t.Name, b.t.Name)) < 0
}

// unified is a topic as metrics call it: names that are equal then clash
// (org.apache.kafka.common.internals.Topic.unifyCollisionChars).
func unified(topic string) string { return strings.ReplaceAll(topic, ".", "_") }

// checkMetrics is C2: names that are equal when unified. What it returns are
// those that the call has more than once.
func (r *run) checkMetrics(all []claim) (near map[string]bool) {
	near = map[string]bool{}
	first := make(map[string]*claim, len(all))
	if r.o.Facts != nil {
		for name := range r.o.Facts.Topics {
			first[unified(name)] = &claim{topic: name, kind: kindTopic, subject: name, existing: true}
		}
	}
	for i := range all {
		c := &all[i]
		k := unified(c.topic)
		if c.internal() && c.v.id == "" { // compared within its own application
			k = c.v.in.File + "\x00" + c.v.t.Name + "\x00" + k
		}
		o := first[k]
		if o != nil && (!o.existing || o.again) {
			near[unified(c.topic)] = true
		}
		if o != nil {
			o.again = true
		}
		switch {
		case o == nil:
			first[k] = c
		case o.topic == c.topic:
		case o.existing:
			f := r.report(c.v, "C2", c.line, kindOfClaim(*c), c.subject, "%s (%s) differs only in '.' and '_' from topic %s, which exists", c, c.topic, o.topic)
			f.Others = append(f.Others, Place{r.o.Facts.From, 0, o.topic})
		default:
			r.report(c.v, "C2", c.line, kindOfClaim(*c), c.subject, "%s (%s) differs only in '.' and '_' from %s (%s), line %d", c, c.topic, o, o.topic, o.line).
				with(o.v, o.line, o.subject)
		}
	}
	return near
}

// checkForeign is C5 for topics that look internal to an application that is
// known, this one or another.
func (r *run) checkForeign(all []claim, same map[string][]claim) {
	ids := r.ids()
	for _, c := range all {
		if c.internal() || slices.ContainsFunc(same[c.topic], claim.internal) {
			continue
		}
		for _, id := range ids {
			if streams.IsInternalTopic(id, c.topic) {
				f := r.report(c.v, "C5", c.line, kindTopic, c.topic, "topic %s has the name of an internal topic of application %s: the reset tool deletes it", c.topic, id)
				f.Severity = Warning
				break
			}
		}
	}
}

// ids are the applications of the call and of the cluster.
func (r *run) ids() []string {
	var out []string
	for _, v := range r.views {
		if v.id != "" {
			out = append(out, v.id)
		}
	}
	if r.o.Facts != nil {
		out = append(out, r.o.Facts.Groups...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkPrefixes is C6.
func (r *run) checkPrefixes() {
	ids := r.ids()
	done := map[string]bool{}
	for _, v := range r.views {
		if v.id == "" || done[v.id] {
			continue
		}
		done[v.id] = true
		for _, id := range ids {
			switch {
			case strings.HasPrefix(id, v.id+"-"):
				f := r.report(v, "C6", v.t.Line, kindApplication, v.id, "application id %s is the beginning of %s: what matches topics by %s- takes those of the other, too", v.id, id, v.id)
				f.Others = append(f.Others, Place{v.in.File, 0, id})
			case strings.HasPrefix(v.id, id+"-") && !r.has(id):
				f := r.report(v, "C6", v.t.Line, kindApplication, v.id, "application id %s begins with that of %s: what matches topics by %s- takes this one's, too", v.id, id, id)
				f.Others = append(f.Others, Place{v.in.File, 0, id})
			}
		}
	}
}

// has says whether an application is in the call.
func (r *run) has(id string) bool {
	return slices.ContainsFunc(r.views, func(v *view) bool { return v.id == id })
}
