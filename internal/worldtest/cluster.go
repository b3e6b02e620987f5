package worldtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sync/errgroup"
)

// Cluster is several real brokers, each of them a controller too. Topics have a
// replica on each unless they are created with fewer.
type Cluster struct {
	Brokers   []*Broker
	Bootstrap string // all of them
}

// StartCluster starts a cluster of n brokers that ends with the test.
func StartCluster(t testing.TB, n int, o Options) *Cluster {
	t.Helper()
	dir := o.Dir
	if dir == "" {
		dir = t.TempDir()
	}
	replicas, inSync := strconv.Itoa(n), strconv.Itoa(n-1)
	config := map[string]string{
		"default.replication.factor":                       replicas,
		"min.insync.replicas":                              inSync,
		"offsets.topic.replication.factor":                 replicas,
		"transaction.state.log.replication.factor":         replicas,
		"transaction.state.log.min.isr":                    inSync,
		"share.coordinator.state.topic.replication.factor": replicas,
		"auto.leader.rebalance.enable":                     "false", // ElectPreferred moves leaders
		"unclean.leader.election.enable":                   "false",
	}
	maps.Copy(config, o.Config)
	o.Config = config
	c := &Cluster{}
	var voters, addresses []string
	for node := 1; node <= n; node++ {
		o.Dir = filepath.Join(dir, "broker-"+strconv.Itoa(node))
		if err := os.Mkdir(o.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		b, err := prepareBroker(o, []listener{{plaintext, plaintext}}, node)
		if err == nil {
			err = b.pickPorts()
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Brokers = append(c.Brokers, b)
		voters, addresses = append(voters, b.voter()), append(addresses, b.Bootstrap)
	}
	c.Bootstrap = strings.Join(addresses, ",")
	var g errgroup.Group // a controller waits for the others
	for _, b := range c.Brokers {
		if err := b.configure(strings.Join(voters, ",")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("log of broker %d:\n%s", b.node, tail(b.Log(), 4<<10))
			}
			b.Kill()
		})
		g.Go(func() error { return b.Start(context.Background()) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return c
}

// AwaitInSync waits until every replica of every partition is in sync: a broker
// that was killed has come back, and another can go.
func (c *Cluster) AwaitInSync(ctx context.Context) error {
	return withAdmin(c.Bootstrap, func(admin *kadm.Client) error {
		for {
			behind := "no topic is listed"
			topics, err := admin.ListTopicsWithInternal(ctx)
			if err == nil && len(topics) > 0 {
				behind = ""
			}
			topics.EachPartition(func(p kadm.PartitionDetail) {
				if len(p.ISR) < len(p.Replicas) {
					behind = fmt.Sprintf("%s-%d has %v of %v in sync", p.Topic, p.Partition, p.ISR, p.Replicas)
				}
			})
			if err == nil && behind == "" {
				return nil
			}
			select {
			case <-ctx.Done():
				return errors.Join(ctx.Err(), err, errors.New(behind))
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
}

// ElectPreferred moves the leaders to the brokers that are meant to lead, and
// returns how many partitions it moved.
func (c *Cluster) ElectPreferred(ctx context.Context) (moved int, err error) {
	err = withAdmin(c.Bootstrap, func(admin *kadm.Client) error {
		topics, err := admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return err
		}
		results, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, topics.TopicsSet())
		if err != nil {
			return err
		}
		for _, partitions := range results {
			for _, r := range partitions {
				if r.Err == nil { // else it was the leader already
					moved++
				}
			}
		}
		return nil
	})
	return moved, err
}
