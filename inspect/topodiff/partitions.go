package topodiff

// partitions tells how many partitions topics have and how many tasks
// sub-topologies make, as far as the counts of the topics of others tell.
type partitions struct {
	g      *graph
	names  prefix
	counts map[string]int
	subs   map[int][]int32 // the sources of a sub-topology
	tasks  map[int]int     // 0: not known
}

// partitions prepares both sides.
func (d *differ) partitions() (old, new *partitions) {
	old = newPartitions(d.old, d.oldNames, d.o.OldPartitions)
	new = newPartitions(d.new, d.newNames, d.o.NewPartitions)
	return old, new
}

func newPartitions(g *graph, names prefix, counts map[string]int) *partitions {
	p := &partitions{g: g, names: names, counts: counts, subs: map[int][]int32{}, tasks: map[int]int{}}
	for i := range g.v {
		if v := &g.v[i]; v.kind == source {
			p.subs[v.sub] = append(p.subs[v.sub], int32(i))
		}
	}
	return p
}

// of is the partition count of a topic; 0 when it is not known. That of a
// repartition topic follows from who writes it, unless it is given: the
// topology's text does not tell the count that Repartitioned can set
// (PI/StreamsPartitionAssignor, PI/RepartitionTopics).
func (p *partitions) of(topic int32) int {
	v := &p.g.v[topic]
	if n := p.given(v); n > 0 || v.kind == external {
		return n
	}
	most := 0
	for _, w := range v.in {
		most = max(most, p.tasksOf(p.g.v[w].sub))
	}
	return most
}

func (p *partitions) given(v *vertex) int {
	if n := p.counts[v.name]; n > 0 && v.kind == external {
		return n
	}
	return p.counts[p.names.full(v.name)]
}

// tasksOf is how many tasks a sub-topology makes: the most partitions of what
// it reads; 0 when that is not known.
func (p *partitions) tasksOf(sub int) int {
	if n, ok := p.tasks[sub]; ok {
		return n
	}
	p.tasks[sub] = 0 // for a sub-topology that reads what it writes
	most := 0
	for _, s := range p.subs[sub] {
		for _, t := range p.g.v[s].in {
			n := p.of(t)
			if n == 0 && p.g.v[t].kind == external {
				return 0
			}
			most = max(most, n)
		}
	}
	p.tasks[sub] = most
	return most
}

// changelog is the partition count of a store's changelog; 0 when it is not
// known.
func (p *partitions) changelog(i int32) int {
	v := &p.g.v[i]
	if n := p.counts[p.names.changelog(v.name)]; n > 0 {
		return n
	}
	return p.tasksOf(v.sub)
}
