package migrate

import "context"

// space compares what the copies take on the brokers, all replicas, with what is
// free there. How replicas spread over brokers is the controller's to say, so
// that is a warning and no refusal.
func (p *MigrationPlan) space(ctx context.Context) {
	var need int64
	for i := range p.Topics {
		t := &p.Topics[i]
		if t.Drained {
			continue
		}
		if t.Bytes == nil {
			return
		}
		need += *t.Bytes * int64(t.Replicas)
	}
	p.SpaceNeeded = &need
	free, ok := p.client.FreeSpace(ctx)
	if !ok {
		return
	}
	p.SpaceFree = &free
	if need > free {
		p.warn("the copies take %s on the brokers, all replicas; the fullest one has %s free", megabytes(need), megabytes(free))
	}
}
