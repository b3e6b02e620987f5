package inspect

import (
	"context"
	"slices"
	"sync"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// ChangelogList is which changelog topics a cluster has.
type ChangelogList struct {
	ClusterID string           `json:"cluster_id"`
	Topics    []ChangelogEntry `json:"topics"` // by application, then name
}

// ChangelogEntry is one changelog topic, as far as can be told without reading
// it.
type ChangelogEntry struct {
	App        string `json:"application"`
	Topic      string `json:"topic"`
	Store      string `json:"store"`
	Partitions int    `json:"partitions"`
	Offsets    *int64 `json:"offsets_held"` // ends less starts; null: not measured, see why
	Ends       *int64 `json:"ends"`         // sum of the ends: grows with every record
	Bytes      *int64 `json:"disk_bytes"`   // on the leaders; null when a broker does not tell
	Why        string `json:"why"`
}

// ListChangelogs lists the changelogs of applications; without any, of all
// whose group the cluster knows and which have a changelog.
func ListChangelogs(ctx context.Context, client *kafka.Client, apps []string) (*ChangelogList, error) {
	out := &ChangelogList{}
	var err error
	if out.ClusterID, err = client.ClusterID(ctx); err != nil {
		return nil, err
	}
	if len(apps) == 0 {
		if apps, err = client.GroupIDs(ctx); err != nil {
			return nil, err
		}
	}
	topics, err := client.Topics(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range topics {
		best := ""
		for _, a := range apps {
			if _, ok := streams.StoreOfChangelog(a, t.Name); ok && a != "" && len(a) > len(best) {
				best = a
			}
		}
		if best != "" {
			store, _ := streams.StoreOfChangelog(best, t.Name)
			out.Topics = append(out.Topics, ChangelogEntry{App: best, Topic: t.Name, Store: store, Partitions: len(t.Partitions)})
		}
	}
	slices.SortFunc(out.Topics, func(x, y ChangelogEntry) int { return compareStrings(x.App, y.App, x.Topic, y.Topic) })
	var wg sync.WaitGroup
	turns := make(chan struct{}, topicsAtOnce)
	for i := range out.Topics {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			out.Topics[i].ask(ctx, client)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, op.Errorf(op.Declined, "list changelogs: %w", err)
	}
	return out, nil
}

// ask fills in what the leaders say.
func (e *ChangelogEntry) ask(ctx context.Context, client *kafka.Client) {
	at, err := client.Offsets(ctx, e.Topic, nil)
	if err != nil {
		e.Why = err.Error()
		return
	}
	held, ends := int64(0), int64(0)
	for _, p := range at {
		held += p.End - p.Start
		ends += p.End
	}
	e.Offsets, e.Ends = &held, &ends
	sizes := client.PartitionSizes(ctx, e.Topic)
	if len(sizes) == 0 {
		return
	}
	n := int64(0)
	for _, s := range sizes {
		n += s
	}
	e.Bytes = &n
}
