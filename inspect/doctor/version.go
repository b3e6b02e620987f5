package doctor

import (
	"fmt"
	"slices"
	"strings"

	"sstool/inspect"
	"sstool/internal/streams"
)

// versionChecks are about an upgrade or a downgrade to --target-version.
func versionChecks() []Check {
	on := []need{needsState, needsTarget}
	return []Check{
		{ID: "version.known", Area: AreaVersion, Title: "the target version is one whose formats are known", needs: []need{needsTarget}, run: versionKnown},
		{ID: "version.opens", Area: AreaVersion, Title: "the target version opens every store", needs: on, run: versionOpens},
		{ID: "version.first-start", Area: AreaVersion, Title: "the first start of the target version does not lose state that the present one keeps", needs: on, run: firstStart},
		{ID: "version.store-format", Area: AreaVersion, Title: "the target version's stores are of the form that lies here", needs: on, run: storeFormat},
		{ID: "version.guarantee", Area: AreaVersion, Title: "the target version knows the processing guarantee", needs: []need{needsConfig, needsTarget}, run: knownGuarantee},
		{ID: "version.way-back", Area: AreaVersion, Title: "what a way back from the target version takes", needs: on, run: wayBack},
	}
}

// Releases at which something changes on disk.
func offsetsInStores() streams.Version { return streams.Version{Major: 4, Minor: 3} } // KIP-1035
func format6() streams.Version         { return streams.Version{Major: 4} }           // RocksDB 9.7

// judged says whether the target's formats are known.
func (f *facts) judged() bool {
	return f.o.Target.CheckTarget() == nil
}

func versionKnown(f *facts, r *report) {
	v := f.o.Target
	switch {
	case v.Less(streams.OldestTarget):
		r.problem("", "Kafka Streams %s cannot read the MANIFEST of stores that 3.0 or later has opened", short(v)).
			then("the application does not start on this state").
			do("remove the state directory after the way back and let it be restored from the changelogs")
	case !f.judged():
		r.unmeasured("", "Kafka Streams %s is newer than %s, the newest whose formats are known here", short(v), short(streams.NewestTarget))
	default:
		k := r.ok("", "Kafka Streams %s", short(v))
		// KAFKA-19748, KAFKA-20616; the upgrade guide names the fixed releases.
		switch {
		case v.Major == 4 && v.Minor == 1:
			k.because("4.1.0 leaks native memory (KAFKA-19748): take 4.1.1 or later")
		case v.Major == 4 && v.Minor == 3:
			k.because("4.3.0 leaks native memory when tasks are closed (KAFKA-20616): take 4.3.1 or later")
		}
	}
}

// versionOpens tells stores that the target's RocksDB or store classes refuse.
func versionOpens(f *facts, r *report) {
	if !f.judged() {
		r.unmeasured("", "the formats of Kafka Streams %s are not known", short(f.o.Target))
		return
	}
	type refusal struct {
		what       string
		rewritable bool
		tasks      []string
	}
	var all []*refusal
	stores := 0
	for _, t := range f.lyingTasks() {
		for _, s := range t.stores {
			stores++
			needs, never := s.Needs()
			what, rewritable := never, true
			for _, n := range needs {
				if f.o.Target.Less(n.Since) {
					rewritable = rewritable && n.Rewritable
					if what != "" {
						what += ", "
					}
					what += n.What
				}
			}
			if what == "" {
				continue
			}
			i := slices.IndexFunc(all, func(x *refusal) bool { return x.what == what })
			if i < 0 {
				i = len(all)
				all = append(all, &refusal{what: what, rewritable: rewritable && never == ""})
			}
			all[i].tasks = append(all[i].tasks, f.name(t)+", store "+s.Name)
		}
	}
	for _, x := range all {
		p := r.problem(fmt.Sprintf("%d stores", len(x.tasks)), "Kafka Streams %s does not open them: %s", short(f.o.Target), x.what).
			because("%s", list(x.tasks)).
			then("the application does not start: an error while a store is opened ends it, and nothing is wiped")
		if x.rewritable {
			p.do("while the application is stopped, rewrite them in a form that every version reads: sstool compact --all %s", f.state.Path)
			continue
		}
		p.do("build the state for that version beside this one, and start on it: sstool restore --into DIR --target-kafka %s", short(f.o.Target)).
			do("or remove the state directory and let the application restore it from the changelogs")
	}
	if len(all) == 0 {
		r.ok("", "%d stores: Kafka Streams %s reads their files and knows their column families", stores, short(f.o.Target))
	}
}

// firstStart compares the next start of the target with that of the present
// version.
func firstStart(f *facts, r *report) {
	if !f.judged() {
		r.unmeasured("", "what Kafka Streams %s does is not known", short(f.o.Target))
		return
	}
	eos, known := f.exactlyOnce()
	guarantees := []bool{eos}
	if !known {
		guarantees = []bool{false, true}
	}
	v, _ := f.kafka()
	target := f.o.Target
	for _, g := range guarantees {
		var worse []*because
		for _, t := range f.lyingTasks() {
			now, _ := next{f, v, g}.task(t)
			then, stores := next{f, target, g}.task(t)
			if then.Will == WillFail && then.cause == byVersion || then.severity() <= now.severity() || then.Will == WillRestore {
				continue
			}
			for i := range stores {
				s := &stores[i]
				if s.Will != then.Will || s.cause == byTask {
					continue
				}
				worse = group(worse, s.Why, f.name(t)+", store "+s.Store, then)
			}
		}
		for _, b := range worse {
			f.tellWorse(r, b, g, known)
		}
	}
	if len(r.findings) == 0 {
		o := r.ok("", "Kafka Streams %s goes on as %s would", short(target), short(v))
		switch {
		case streams.OffsetsInStore(target) && !streams.OffsetsInStore(v):
			o.because("offsets move from .checkpoint into the stores when they are opened, and the file is deleted; with upgrade.from=%s the file is written too", short(v))
		case target.AtLeast(streams.Version{Major: 4}) && v.Less(streams.Version{Major: 4}):
			o.because("from 4.0 on, stores of all tasks that lie here are opened when the application starts")
		}
	}
}

// tellWorse is one reason for which the target does more than the present
// version would.
func (f *facts) tellWorse(r *report, b *because, eos, known bool) {
	under := ""
	if !known {
		under = map[bool]string{true: " under exactly-once", false: " under at-least-once"}[eos]
	}
	if !known {
		b.evidence(r.unmeasured(subject(b.tasks), "the processing guarantee is not known;%s: %s", under, b.why))
		return
	}
	p := b.evidence(r.warn(subject(b.tasks), "the first start of Kafka Streams %s wipes tasks that the present version resumes: %s", short(f.o.Target), b.why)).
		then("the whole task is replayed from the log start: %s", b.replay())
	if strings.Contains(b.why, ".checkpoint") {
		p.do("before the upgrade, hand the tasks over in the new form: sstool restore --into DIR --processing-guarantee exactly_once_v2 --target-kafka %s writes that offset into the store, where it is accepted", short(f.o.Target))
	}
	p.do("or plan for the replay: tasks whose stores are all empty have nothing to replay")
}

// storeFormat tells stores with record headers, which a class without them
// refuses (KIP-1271, KIP-1285).
func storeFormat(f *facts, r *report) {
	var headers []string
	for _, t := range f.lyingTasks() {
		for _, s := range t.stores {
			if slices.ContainsFunc(s.Families, func(m inspect.MapFamily) bool {
				return slices.Contains([]string{streams.TimestampHeadersFamily, streams.WindowHeadersFamily, streams.SessionHeadersFamily}, m.Name)
			}) {
				headers = append(headers, f.name(t)+", store "+s.Name)
			}
		}
	}
	switch format := f.config.get("dsl.store.format"); {
	case len(headers) == 0:
		r.ok("", "no store keeps record headers")
	case f.o.Target.Less(offsetsInStores()):
		r.ok("", "stores keep record headers: version.opens tells that %s does not open them", short(f.o.Target))
	case f.config == nil:
		r.unmeasured("", "%d stores keep record headers (%s): whether the application goes on keeping them is in its properties (--app-config)", len(headers), list(headers))
	case format == "":
		r.unmeasured("", "%d stores keep record headers (%s), and dsl.store.format is not set: stores of the Processor API have the supplier they were made with, those of the DSL need HEADERS", len(headers), list(headers))
	case !strings.EqualFold(format, "HEADERS"):
		r.warn(fmt.Sprintf("%d stores", len(headers)), "they keep record headers, and dsl.store.format is %s", format).
			because("%s", list(headers)).
			then("if they are the DSL's, the application does not start: a store that keeps headers cannot be opened as one without them").
			do("set dsl.store.format=HEADERS; stores of the Processor API keep them when their supplier says so (Stores.*WithHeaders)").
			do("for the way back to stores without headers remove the state, and let it be restored")
	default:
		r.ok("", "%d stores keep record headers, and the application does", len(headers))
	}
}

// knownGuarantee tells a processing.guarantee that is gone.
func knownGuarantee(f *facts, r *report) {
	g := strings.ToLower(f.config.get("processing.guarantee"))
	if (g == "exactly_once" || g == "exactly_once_beta") && f.o.Target.AtLeast(format6()) {
		r.problem("processing.guarantee", "%s is gone in Kafka Streams 4.0", g).
			because("%s", f.config.File).
			then("the application does not start (ConfigException)").
			do("set processing.guarantee=exactly_once_v2, with brokers of 2.5 or later, before the upgrade")
		return
	}
	r.ok("processing.guarantee", "Kafka Streams %s knows it", short(f.o.Target))
}

// wayBack says what an older version cannot open any more once the target has
// run. It is no finding: only going back is.
func wayBack(f *facts, r *report) {
	v, _ := f.kafka()
	target := f.o.Target
	switch {
	case target.AtLeast(offsetsInStores()) && v.Less(offsetsInStores()):
		r.ok("", "once Kafka Streams %s has opened a store, %s cannot open it any more: it has the offsets family", short(target), short(v)).
			because("the same with upgrade.from: the family stays").
			do("for a way back keep a copy of the state directory, made while the application is stopped, or plan for a restore: sstool restore --into DIR --target-kafka %s", short(v))
	case target.AtLeast(format6()) && v.Less(format6()):
		r.ok("", "files that Kafka Streams %s writes have SST format 6, which %s does not read", short(target), short(v)).
			do("for a way back rewrite them: sstool compact --all %s, while the application is stopped", f.state.Path)
	default:
		r.ok("", "between Kafka Streams %s and %s nothing on disk stands in the way back", short(v), short(target))
	}
}
