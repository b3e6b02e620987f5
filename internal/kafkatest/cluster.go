package kafkatest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Options of a cluster. The zero value is one broker on a free local port.
type Options struct {
	Listen    string // host:port of the first broker; "" or port 0: a free local port
	Brokers   int    // 1 when 0; more brokers take the following ports
	ClusterID string
	TLS       *tls.Config
	// Users turn SASL on; they may do everything.
	Users []User
	// Extra are further options of kfake, for tests.
	Extra []kfake.Opt
}

// User is a SASL user.
type User struct{ Mechanism, Name, Password string }

// Cluster is a running cluster.
type Cluster struct {
	*kfake.Cluster // for fault injection; its Close is hidden by ours
	admin          *kgo.Client
	o              Options
}

// Start starts a cluster.
func Start(o Options) (*Cluster, error) {
	n := max(o.Brokers, 1)
	opts := []kfake.Opt{kfake.NumBrokers(n)}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen address %q: %w", o.Listen, err)
		}
		p, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("listen address %q: port: %w", o.Listen, err)
		}
		next := int(p)
		opts = append(opts, kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			l, err := net.Listen(network, net.JoinHostPort(host, strconv.Itoa(next)))
			if next != 0 {
				next++
			}
			return l, err
		}))
	}
	if o.ClusterID != "" {
		opts = append(opts, kfake.ClusterID(o.ClusterID))
	}
	if o.TLS != nil {
		opts = append(opts, kfake.TLS(o.TLS))
	}
	if len(o.Users) > 0 {
		opts = append(opts, kfake.EnableSASL())
		for _, u := range o.Users {
			opts = append(opts, kfake.Superuser(u.Mechanism, u.Name, u.Password))
		}
	}
	fake, err := kfake.NewCluster(append(opts, o.Extra...)...)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Cluster: fake, o: o}
	c.admin, err = c.client()
	if err != nil {
		fake.Close()
		return nil, err
	}
	return c, nil
}

// Addrs are the brokers' addresses.
func (c *Cluster) Addrs() []string { return c.ListenAddrs() }

// Close stops the cluster.
func (c *Cluster) Close() {
	c.admin.Close()
	c.Cluster.Close()
}

// Topic creates a topic, with configs as key, value pairs.
func (c *Cluster) Topic(name string, partitions int32, configs ...string) error {
	m := map[string]string{}
	for i := 0; i+1 < len(configs); i += 2 {
		m[configs[i]] = configs[i+1]
	}
	return c.CreateTopic(name, partitions, m)
}

// client is a kgo client of the cluster.
func (c *Cluster) client(opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics(),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)
	if c.o.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(&tls.Config{InsecureSkipVerify: true}))
	}
	if len(c.o.Users) > 0 {
		opts = append(opts, kgo.SASL(mechanism(c.o.Users[0])))
	}
	return kgo.NewClient(opts...)
}

// Transaction writes the records in one transaction and commits or aborts it.
func (c *Cluster) Transaction(ctx context.Context, topic string, commit bool, recs ...Record) error {
	end, err := c.Begin(ctx, topic, recs...)
	if err != nil {
		return err
	}
	return end(commit)
}

// Begin writes the records in a transaction that stays open until end is called.
func (c *Cluster) Begin(ctx context.Context, topic string, recs ...Record) (end func(commit bool) error, err error) {
	return c.BeginAs(ctx, fmt.Sprintf("tx-%s-%p", topic, &topic), topic, recs...)
}

// BeginAs is Begin with a transactional id.
func (c *Cluster) BeginAs(ctx context.Context, id, topic string, recs ...Record) (end func(commit bool) error, err error) {
	cl, err := c.client(kgo.TransactionalID(id))
	if err != nil {
		return nil, err
	}
	if err := cl.BeginTransaction(); err != nil {
		cl.Close()
		return nil, err
	}
	for i := range recs {
		r := &recs[i]
		kr := &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: ms(r.Timestamp)}
		for _, h := range r.Headers {
			kr.Headers = append(kr.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		if err := cl.ProduceSync(ctx, kr).FirstErr(); err != nil {
			cl.Close()
			return nil, err
		}
	}
	return func(commit bool) error {
		defer cl.Close()
		return cl.EndTransaction(ctx, kgo.TransactionEndTry(commit))
	}, nil
}

// Join makes a member of a group that consumes the topic, which has records,
// and waits until it is in; leave ends it. The protocol is "classic" or "consumer".
func (c *Cluster) Join(ctx context.Context, group, topic, protocol string) (leave func(), err error) {
	opts := []kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit()}
	if protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	cl, err := c.client(opts...)
	if err != nil {
		return nil, err
	}
	if err := cl.PollFetches(ctx).Err(); err != nil {
		cl.Close()
		return nil, err
	}
	return func() {
		cl.LeaveGroup()
		cl.Close()
	}, nil
}
