package migrate

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"sstool/internal/serde"
)

// ttlEdges are the ages that the histogram tells apart, the cutoff among them.
func ttlEdges(o *TTLOptions) []int64 {
	day := 24 * time.Hour
	var out []int64
	for _, d := range []time.Duration{time.Minute, time.Hour, 6 * time.Hour, day, 7 * day, 30 * day, 90 * day, 365 * day} {
		out = append(out, d.Milliseconds())
	}
	cut := o.OlderThan.Milliseconds()
	if o.Before != nil {
		cut = o.Now.UnixMilli() - *o.Before
	}
	if cut > 0 {
		out = append(out, cut)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// finish makes the plan of what was counted.
func (r *ttlRun) finish(sel *ttlSelection) {
	p, t := r.plan, sel.tally
	p.AgeFrom = r.ageFrom()
	if r.rules.hasCutoff {
		p.Cutoff = &TTLCutoff{StreamTime: r.o.StreamTime}
		switch {
		case r.o.Before != nil:
			p.Cutoff.Before = moment(*r.o.Before)
		case !r.o.StreamTime:
			p.Cutoff.Before = moment(r.rules.now - r.o.OlderThan.Milliseconds())
		}
		if r.o.OlderThan > 0 {
			ms := r.o.OlderThan.Milliseconds()
			p.Cutoff.OlderThan = &ms
		}
	}
	p.Stores = p.Stores[:0]
	for i, s := range r.stores {
		p.Stores = append(p.Stores, TTLStorePlan{Store: s.Name, Role: s.role, Kind: string(s.Kind), KindWhy: s.KindWhy, Topic: s.topic, Selected: sel.out.counts[i]})
	}
	p.Partitions, p.Total = p.Partitions[:0], TTLCounts{}
	for _, id := range r.parts {
		p.Partitions = append(p.Partitions, r.partition(sel, id))
		x := p.Partitions[len(p.Partitions)-1].TTLCounts
		p.Total.Rows += x.Rows
		p.Total.Bytes += x.Bytes
		p.Total.Unknown += x.Unknown
		p.Total.Selected.Rows += x.Selected.Rows
		p.Total.Selected.Bytes += x.Selected.Bytes
		if x.Oldest != nil && (p.Total.Oldest == nil || x.Oldest.Before(*p.Total.Oldest)) {
			p.Total.Oldest = x.Oldest
		}
		if x.Newest != nil && (p.Total.Newest == nil || x.Newest.After(*p.Total.Newest)) {
			p.Total.Newest = x.Newest
		}
	}
	p.Histogram = p.Histogram[:0]
	for i, a := range t.ages {
		if i > 0 {
			a.From = r.rules.edges[i-1]
		}
		if i < len(r.rules.edges) {
			to := r.rules.edges[i]
			a.To = &to
		}
		a.Selected = sel.out.ages[i]
		p.Histogram = append(p.Histogram, a)
	}
	p.Unknown = t.unknown
	p.Unknown.Deleted = r.o.DeleteUnknown
	p.WhereFailed, p.Undecoded, p.Limited = t.whereFailed, t.undecoded, sel.out.left
	if r.o.Keys != nil {
		found := p.Total.Rows
		p.KeysFound = &found
	}
	if p.Spread = t.bins.spread(); p.Spread != nil {
		p.Spread.Useless = r.rules.hasCutoff && r.o.Companion == nil && r.o.Timestamp == nil && p.Spread.Share >= 0.99 && t.bins.rows >= uselessRows
	}
	p.deletion = r.deletion(sel)
	r.advise()
}

// uselessRows is how many rows must lie in one hour to say that age tells
// nothing.
const uselessRows = 20

func moment(ms int64) *time.Time {
	t := time.UnixMilli(ms).UTC()
	if t.Year() < 0 || t.Year() > 9999 { // JSON has no such times
		return nil
	}
	return &t
}

func (r *ttlRun) ageFrom() string {
	switch {
	case !r.rules.hasCutoff:
		return "age does not count"
	case r.o.Companion != nil && r.o.Timestamp != nil:
		return fmt.Sprintf("--timestamp-expr over the values of %s", r.o.Companion.Name)
	case r.o.Companion != nil:
		return fmt.Sprintf("the values of %s", r.o.Companion.Name)
	case r.o.Timestamp != nil:
		return "--timestamp-expr over the values"
	}
	return "the records' timestamps"
}

func (r *ttlRun) partition(sel *ttlSelection, id int32) TTLPartition {
	s := r.stores[0]
	x := TTLPartition{Partition: id, Start: s.log.ends[id].Start, End: s.log.end(id), Source: "changelog", Why: s.why[id], Samples: []TTLSample{}}
	if s.local != nil && !slices.Contains(s.log.parts, id) {
		x.Source = "local"
	}
	if ms, ok := s.log.streamTime[id]; ok && ms >= 0 {
		x.StreamTime = moment(ms)
	}
	if c, ok := r.rules.cutoffs[id]; ok {
		x.Cutoff = moment(c)
	}
	if t, ok := sel.tally.parts[id]; ok {
		x.Rows, x.Bytes, x.Unknown = t.rows, t.bytes, t.unknown
		if t.times > 0 {
			x.Oldest, x.Newest = moment(t.oldest), moment(t.newest)
		}
	}
	if c := sel.out.parts[id]; c != nil {
		x.Selected = c.TTLSelect
		for _, row := range c.samples.list {
			sample := TTLSample{KeyHex: hex.EncodeToString(row.key), Bytes: row.size}
			if v, err := r.rules.key.decode(row.key); err == nil {
				sample.Key, err = serde.Plain(v)
				if err != nil {
					sample.Key = "0x" + sample.KeyHex
				}
			} else {
				sample.Key = "0x" + sample.KeyHex
			}
			if row.known {
				sample.Timestamp = moment(row.time)
			}
			x.Samples = append(x.Samples, sample)
		}
	}
	return x
}

// deletion is what Apply does: the related stores first and the companion last,
// so that a run which died is found again by a new plan.
func (r *ttlRun) deletion(sel *ttlSelection) *Deletion {
	d := &Deletion{Command: cmp.Or(r.o.Command, CommandTTL), ApplicationID: r.o.ApplicationID, ClusterID: r.plan.ClusterID, Request: r.plan.Request}
	add := func(i int) {
		s := r.stores[i]
		x := DeletionStore{Store: s.Name, Topic: s.topic, TopicID: s.topicID, Kind: s.Kind}
		for _, p := range r.parts {
			x.Parts = append(x.Parts, DeletionPart{Partition: p, End: s.log.ends[p].End, Keys: sel.out.finished[i][p]})
		}
		d.Stores = append(d.Stores, x)
	}
	last := -1
	for i, s := range r.stores {
		switch {
		case i == 0 || !s.cleaned:
		case s.role == RoleTimestamps:
			last = i
		default:
			add(i)
		}
	}
	add(0)
	if last > 0 {
		add(last)
	}
	return d
}
