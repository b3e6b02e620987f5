package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// changelogChecks are about the topics that the application's state lives in.
func changelogChecks() []Check {
	asks := []need{needsCluster, needsID}
	return []Check{
		{ID: "changelogs.exist", Area: AreaChangelogs, Title: "every store has its changelog", needs: asks, run: changelogsExist},
		{ID: "changelogs.partitions", Area: AreaChangelogs, Title: "partitions fit the tasks", Checklist: true, needs: asks, run: changelogPartitions},
		{ID: "changelogs.configuration", Area: AreaChangelogs, Title: "changelogs are configured as their kind of store needs", needs: asks, run: changelogConfig},
		{ID: "changelogs.replicas", Area: AreaChangelogs, Title: "internal topics are replicated and can be written", needs: asks, run: topicReplicas},
		{ID: "changelogs.compaction", Area: AreaChangelogs, Title: "changelogs are compacted", needs: asks, run: changelogCompaction},
		{ID: "changelogs.transactions", Area: AreaChangelogs, Title: "no transaction hangs", needs: asks, run: openTransactions},
		{ID: "changelogs.source-topics", Area: AreaChangelogs, Title: "source topics that stores are restored from keep all rows", needs: asks, run: sourceTopics},
		{ID: "changelogs.repartition", Area: AreaChangelogs, Title: "topics between sub-topologies lose nothing", needs: asks, run: repartitionTopics},
	}
}

// changelogs are the topics that Kafka Streams logs stores to.
func (f *facts) changelogs(yield func(*topicFacts) bool) {
	for _, t := range f.topics {
		if t.kind == topology.Changelog && !yield(t) {
			return
		}
	}
}

func changelogsExist(f *facts, r *report) {
	there, absent, here := 0, 0, false
	var told []string
	for t := range f.changelogs {
		switch {
		case t.info != nil:
			there++
		case slices.ContainsFunc(t.stores, logged):
			absent++
			rows := int64(0)
			for _, s := range t.stores {
				rows += s.Entries
			}
			r.problem(t.name, "the changelog of the stores here does not exist").
				because("%d stores called %s here, with %d rows and deletions on disk", len(t.stores), t.store, rows).
				then("Kafka Streams makes it anew and empty, and wipes the stores, whose offsets are beyond its end").
				do("do not start the application: check that it is the right cluster, and keep a copy of %s", f.state.Path)
		default:
			told, here = append(told, t.name), here || len(t.stores) > 0
		}
	}
	if absent > 0 {
		return
	}
	switch {
	case len(told) > 0 && (there > 0 || here):
		r.unmeasured("", "%d changelogs do not exist, %s: neither a topology nor a store without an offset tells whether the store is logged", len(told), inspect.Few(told)).
			because("%d changelogs exist", there).
			do("check withLoggingDisabled of these stores; a changelog that somebody deleted is made anew and empty")
	case len(told) > 0:
		r.ok("", "no changelog exists yet: Kafka Streams makes them at the first start")
	default:
		r.ok("", "%d changelogs, all there", there)
	}
}

// logged says whether the store has an offset of its changelog: one that is not
// logged never has, one that runs has none yet.
func logged(s *inspect.MapStore) bool {
	return slices.ContainsFunc(s.Offsets.List, func(o inspect.MapOffset) bool { return o.Topic == s.Offsets.Topic })
}

func changelogPartitions(f *facts, r *report) {
	bySub := map[int]map[int][]string{} // sub-topology → partitions → topics
	for t := range f.changelogs {
		if t.info == nil {
			continue
		}
		n := len(t.info.Partitions)
		var beyond []string
		for _, s := range t.stores {
			id, err := streams.ParseTaskID(s.Task)
			if err != nil {
				continue
			}
			if id.Partition >= n {
				beyond = append(beyond, s.Task)
			}
			if bySub[id.Subtopology] == nil {
				bySub[id.Subtopology] = map[int][]string{}
			}
			if have := bySub[id.Subtopology][n]; !slices.Contains(have, t.name) {
				bySub[id.Subtopology][n] = append(have, t.name)
			}
		}
		if len(beyond) > 0 {
			r.problem(t.name, "%d partitions, but there are tasks beyond them here", n).because("tasks %s", inspect.Few(beyond)).
				then("Kafka Streams never assigns these tasks, or stops: the topic has invalid partitions").
				do("look at the source topics' partitions; if they were reduced by making the topics anew, keys lie elsewhere: reset the application")
		}
	}
	for sub, counts := range bySub {
		if len(counts) < 2 {
			continue
		}
		x := r.problem(fmt.Sprintf("sub-topology %d", sub), "its changelogs have different numbers of partitions").
			then("Kafka Streams stops at start: existing internal topic has invalid partitions").
			do("recreate the odd one with the right number, partition by partition the same keys, or reset the application (kafka-streams-application-reset.sh)")
		for n, names := range counts {
			slices.Sort(names)
			x.because("%d partitions: %s", n, inspect.Few(names))
		}
		slices.Sort(x.at().Evidence)
	}
	if f.lint == nil {
		if len(r.findings) == 0 && len(bySub) == 0 {
			r.unmeasured("", "neither a state directory with this application's tasks nor a topology (--topology) was given")
		}
		return
	}
	for _, x := range f.lintOf("P1", "P2", "P3", "P4") {
		r.lint(x)
	}
}

func changelogConfig(f *facts, r *report) {
	checked := 0
	for t := range f.changelogs {
		switch {
		case t.info == nil:
			continue
		case t.configErr != nil:
			r.unmeasured(t.name, "%v", t.configErr)
			continue
		}
		checked++
		for _, fact := range inspect.CheckChangelog(t.config, t.use) {
			if fact.Name == "min.insync.replicas" { // changelogs.replicas
				continue
			}
			status := op.OK
			switch {
			case fact.Verdict == inspect.ConfigWrong:
				status = op.Wrong
			case fact.Verdict == inspect.ConfigNote && fact.Needs != "":
				status = op.Attention
			default:
				continue
			}
			x := r.say(status, t.name, "%s=%s, needed is %s", fact.Name, fact.Value, fact.Needs).then("%s", fact.Because).
				do("kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config %s", t.name, setting(fact))
			if fact.Name == "retention.bytes" && status == op.Attention {
				x.do("sstool inspect changelog %s tells what keeps it large; sstool ttl --dry-run what deleting old rows would save", t.name)
			}
		}
		oldWindows(t, r)
	}
	if len(r.findings) == 0 {
		r.ok("", "cleanup policy, retention, timestamps and sizes of %d changelogs are as their stores need", checked)
	}
}

// setting is what to set, as kafka-configs.sh wants it.
func setting(fact inspect.ConfigFact) string {
	needs := strings.TrimPrefix(fact.Needs, "at most ")
	if strings.Contains(needs, ",") {
		needs = "[" + needs + "]"
	}
	return fact.Name + "=" + needs
}

// oldWindows finds a topic that forgets windows which stores still keep.
func oldWindows(t *topicFacts, r *report) {
	keeps, ok := int64(0), false
	if ms, has := number(t.config, "retention.ms"); has && ms >= 0 && strings.Contains(t.config["cleanup.policy"], "delete") {
		keeps, ok = ms, true
	}
	for _, s := range t.stores {
		if !ok || len(s.Segments) < 2 {
			continue
		}
		span := s.Segments[len(s.Segments)-1].StartMs - s.Segments[0].StartMs
		if span <= keeps || s.Segments[0].Expired == "stream time" {
			continue
		}
		r.problem(t.name, "retention.ms=%d is less than the store keeps", keeps).
			because("task %s has segments over %s", s.Task, time.Duration(span)*time.Millisecond).
			then("windows that the store still has are missing after a restore").
			do("set retention.ms to the store's retention and a day (windowstore.changelog.additional.retention.ms)")
		return
	}
}

func topicReplicas(f *facts, r *report) {
	topics := 0
	for _, t := range f.topics {
		if t.info == nil {
			continue
		}
		topics++
		isr, known := number(t.config, "min.insync.replicas")
		single := 0
		var under, offline []string
		for _, p := range t.info.Partitions {
			switch {
			case p.Leader < 0:
				offline = append(offline, t.at(p.Partition))
			case known && p.Replicas >= int(isr) && p.InSync < int(isr):
				under = append(under, fmt.Sprintf("%s: %d of %d in sync", t.at(p.Partition), p.InSync, p.Replicas))
			}
			if p.Replicas == 1 {
				single++
			}
		}
		if len(offline) > 0 {
			r.problem(t.name, "partitions without a leader").because("%s", inspect.Few(offline)).
				then("the tasks of these partitions neither restore nor process").do("look at the brokers that hold them: kafka-topics.sh --describe --topic %s", t.name)
		}
		if known && t.use.Replicas > 0 && int(isr) > t.use.Replicas {
			r.problem(t.name, "min.insync.replicas=%d, but there are %d replicas", isr, t.use.Replicas).
				then("no record can be written with acks=all: the application fails at its first update").
				do("add replicas (kafka-reassign-partitions.sh), or kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config min.insync.replicas=%d", t.name, t.use.Replicas).
				do("replication.factor=-1 in the application takes the broker's default for new topics")
		}
		if len(under) > 0 {
			r.problem(t.name, "fewer replicas in sync than min.insync.replicas=%d", isr).because("%s", inspect.Few(under)).
				then("writes are refused until they are back: the application stops with a timeout").do("bring the brokers back")
		}
		if single > 0 && f.brokers > 1 && !t.source() {
			r.warn(t.name, "one replica only, on a cluster of %d brokers", f.brokers).
				then("a broker that is lost takes the state with it; while it restarts, its tasks wait").
				do("set replication.factor=3 (or -1, the broker's default) in the application for new topics, and reassign this one with more replicas")
		}
	}
	if len(r.findings) > 0 {
		return
	}
	x := r.ok("", "%d topics can be written", topics)
	if f.brokers == 1 {
		x.because("the cluster has one broker: there is nothing to replicate to")
	}
}

func sourceTopics(f *facts, r *report) {
	var fine []string
	for _, t := range f.topics {
		switch {
		case !t.source() || t.info == nil:
			continue
		case t.configErr != nil:
			r.unmeasured(t.name, "%v", t.configErr)
		case strings.Contains(t.config["cleanup.policy"], "delete"):
			r.warn(t.name, "the store %s is restored from it, and it deletes records (cleanup.policy=%s, retention.ms=%s)", t.store, t.config["cleanup.policy"], t.config["retention.ms"]).
				then("the running store keeps rows that the topic has dropped; after a restore they are missing, and results change").
				do("make it compacted (cleanup.policy=compact), or give the table a changelog of its own (topology.optimization=none for table(), toTable() behind a stream)")
		default:
			fine = append(fine, t.name)
		}
	}
	switch {
	case len(r.findings) > 0:
	case len(fine) > 0:
		r.ok("", "compacted: %s", inspect.Few(fine)).because("they belong to the user: sstool does not write, copy or clean them")
	default:
		r.ok("", "no store is restored from a source topic, as far as is known")
	}
}

func repartitionTopics(f *facts, r *report) {
	n := 0
	for _, t := range f.topics {
		if t.source() || t.kind == topology.Changelog || t.info == nil {
			continue
		}
		n++
		if t.configErr != nil {
			r.unmeasured(t.name, "%v", t.configErr)
			continue
		}
		alter := "kafka-configs.sh --alter --entity-type topics --entity-name " + t.name + " --add-config "
		if policy, ok := t.config["cleanup.policy"]; ok && policy != "delete" {
			r.problem(t.name, "cleanup.policy=%s, needed is delete", policy).
				then("records of one key that were not processed yet are compacted into one: results are wrong").do("%s", alter+"cleanup.policy=delete")
		}
		if ms, ok := number(t.config, "retention.ms"); ok && ms >= 0 {
			r.problem(t.name, "retention.ms=%d, needed is -1", ms).
				then("records are lost when the application stands still for longer than %s; it deletes what it has processed itself", human.Duration(time.Duration(ms)*time.Millisecond)).do("%s", alter+"retention.ms=-1")
		}
		if b, ok := number(t.config, "retention.bytes"); ok && b >= 0 {
			r.problem(t.name, "retention.bytes=%d, needed is -1", b).
				then("records that were not processed yet are deleted when a partition grows larger").do("%s", alter+"retention.bytes=-1")
		}
		if t.config["message.timestamp.type"] == "LogAppendTime" {
			r.problem(t.name, "message.timestamp.type=LogAppendTime, needed is CreateTime").
				then("event time is lost between sub-topologies: windows count by when the broker saw the records").do("%s", alter+"message.timestamp.type=CreateTime")
		}
	}
	if len(r.findings) == 0 {
		r.ok("", "%d topics between sub-topologies are deleted from by the application alone", n)
	}
}
