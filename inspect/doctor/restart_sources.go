package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sstool/internal/human"
)

// sourcesInRange compares what the group has committed with the topics: a
// committed offset that is gone stops the application, or makes it skip.
func sourcesInRange(f *facts, r *report) {
	c := f.cluster
	if c.committedErr != nil {
		r.unmeasured(f.app, "%v", c.committedErr)
		return
	}
	if len(c.committed) == 0 {
		r.ok(f.app, "the group has committed no offset")
		return
	}
	all := 0
	for _, topic := range slices.Sorted(maps.Keys(c.committed)) {
		e, ok := c.ends[topic]
		switch {
		case !ok:
			r.warn(topic, "the group has committed offsets of it, but the topic does not exist").
				then("a source topic that is gone ends the application (MissingSourceTopicException); one that the topology no longer reads does nothing").
				do("check the topology; make the topic again, or forget it with kafka-consumer-groups.sh --delete-offsets --group %s --topic %s", f.app, topic)
			continue
		case e.err != nil:
			r.unmeasured(topic, "%v", e.err)
			continue
		}
		f.judgeSource(r, topic, e, &all)
	}
	if len(r.findings) == 0 {
		r.ok(f.app, "%d committed offsets lie within their topics", all)
	}
}

// judgeSource judges the committed offsets of one topic.
func (f *facts) judgeSource(r *report, topic string, e topicEnds, all *int) {
	var below, beyond []string
	lost := int64(0)
	for _, p := range slices.Sorted(maps.Keys(f.cluster.committed[topic])) {
		at, ok := e.at[p]
		offset := f.cluster.committed[topic][p]
		switch {
		case !ok:
			continue
		case offset < at.Start:
			lost += at.Start - offset
			below = append(below, fmt.Sprintf("partition %d: committed %d, log start %d: OUT OF RANGE by %s records", p, offset, at.Start, human.Count(at.Start-offset)))
		case offset > at.End:
			beyond = append(beyond, fmt.Sprintf("partition %d: committed %d, end %d: OUT OF RANGE by %s records", p, offset, at.End, human.Count(offset-at.End)))
		}
		*all++
	}
	if len(below) > 0 {
		p := r.problem(topic, "%s records that the application has not read are gone", human.Count(lost))
		for _, b := range below {
			p.because("%s", b)
		}
		f.resetPolicy(p.then("state and input no longer match: the stores hold what was read up to the committed offset, and what follows it is lost"))
	}
	if len(beyond) > 0 {
		p := r.problem(topic, "committed offsets lie beyond the topic's end: it was made anew, or lost its end")
		for _, b := range beyond {
			p.because("%s", b)
		}
		f.resetPolicy(p.then("state and input no longer match: the stores hold what was read from another topic"))
	}
}

// resetPolicy says what can be done: nothing here resets an offset.
func (f *facts) resetPolicy(p *finding) {
	policy := cmp.Or(f.config.get("main.consumer.auto.offset.reset"), f.config.get("consumer.auto.offset.reset"), f.config.get("auto.offset.reset"))
	from := "of the properties given"
	if policy == "" {
		policy, from = "earliest", "Kafka Streams' default"
	}
	p.because("auto.offset.reset is %s (%s)", policy, from)
	p.do("choose, and nothing here does it for you: earliest goes on at what is left, latest skips that too, none stops the application with an error").
		do("or begin anew with state and input together: kafka-streams-application-reset.sh")
}
