package worldtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Record is a record to write. A nil key or value is null, an empty one is not.
type Record struct {
	Partition  int32
	Key, Value []byte
	Headers    []kgo.RecordHeader
	Timestamp  time.Time // default now
}

// Produce appends records in order. A compacted topic refuses null keys: its
// cleanup policy is then "delete" while they are written, as it was on topics
// that really have them.
func Produce(ctx context.Context, bootstrap, topic string, records ...Record) error {
	write := func() error { return produce(ctx, bootstrap, topic, records) }
	for _, r := range records {
		if r.Key == nil {
			return uncompacted(ctx, bootstrap, topic, write)
		}
	}
	return write()
}

func produce(ctx context.Context, bootstrap, topic string, records []Record, opts ...kgo.Opt) error {
	client, err := newProducer(bootstrap, opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.ProduceSync(ctx, convert(topic, records)...).FirstErr()
}

func newProducer(bootstrap string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(16 << 20),
	}, opts...)...)
}

func convert(topic string, records []Record) []*kgo.Record {
	out := make([]*kgo.Record, len(records))
	for i, r := range records {
		out[i] = &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp}
	}
	return out
}

// uncompacted runs write while the topic's cleanup policy is "delete".
func uncompacted(ctx context.Context, bootstrap, topic string, write func() error) error {
	policy := ""
	err := withAdmin(bootstrap, func(admin *kadm.Client) error {
		configs, err := admin.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		for _, c := range configs {
			for _, entry := range c.Configs {
				if entry.Key == "cleanup.policy" {
					policy = entry.MaybeValue()
				}
			}
		}
		return nil
	})
	if err != nil || !strings.Contains(policy, "compact") {
		return errorOr(err, write)
	}
	const forever = "-1"
	loose := map[string]string{"cleanup.policy": "delete", "retention.ms": forever}
	if err := SetTopicConfig(ctx, bootstrap, topic, loose); err != nil {
		return err
	}
	err = write()
	// The broker applies a changed policy a moment after it has confirmed it.
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); err = write() {
		time.Sleep(100 * time.Millisecond)
	}
	strict := map[string]string{"cleanup.policy": policy}
	if !strings.Contains(policy, "delete") {
		strict["retention.ms"] = ""
	}
	if e := SetTopicConfig(ctx, bootstrap, topic, strict); e != nil && err == nil {
		return e
	}
	return err
}

func errorOr(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// Txn is a transaction that was begun and has records on the broker.
type Txn struct {
	ProducerID    int64
	ProducerEpoch int16

	client *kgo.Client
}

// BeginTxn writes records in a transaction and leaves it open: the last stable
// offset stays before them until it is ended, or its timeout of ten minutes.
func BeginTxn(ctx context.Context, bootstrap, topic string, records ...Record) (*Txn, error) {
	client, err := newProducer(bootstrap, kgo.TransactionalID("worldtest-"+rand.Text()), kgo.TransactionTimeout(10*time.Minute))
	if err != nil {
		return nil, err
	}
	txn := &Txn{client: client}
	if err := txn.begin(ctx, topic, records); err != nil {
		client.Close()
		return nil, err
	}
	return txn, nil
}

func (t *Txn) begin(ctx context.Context, topic string, records []Record) error {
	if err := t.client.BeginTransaction(); err != nil {
		return err
	}
	if err := t.client.ProduceSync(ctx, convert(topic, records)...).FirstErr(); err != nil {
		return err
	}
	var err error
	t.ProducerID, t.ProducerEpoch, err = t.client.ProducerID(ctx)
	return err
}

// Commit ends the transaction.
func (t *Txn) Commit(ctx context.Context) error { return t.end(ctx, kgo.TryCommit) }

// Abort ends the transaction; its records stay in the log.
func (t *Txn) Abort(ctx context.Context) error { return t.end(ctx, kgo.TryAbort) }

func (t *Txn) end(ctx context.Context, how kgo.TransactionEndTry) error {
	defer t.client.Close()
	return t.client.EndTransaction(ctx, how)
}

// Abandon forgets the transaction and leaves it open on the broker, as a
// producer that died does.
func (t *Txn) Abandon() { t.client.Close() }

// ProduceTxn writes records in one transaction and commits or aborts it.
func ProduceTxn(ctx context.Context, bootstrap, topic string, commit bool, records ...Record) error {
	txn, err := BeginTxn(ctx, bootstrap, topic, records...)
	if err != nil {
		return fmt.Errorf("transaction on %s: %w", topic, err)
	}
	if commit {
		return txn.Commit(ctx)
	}
	return txn.Abort(ctx)
}

// PlainProduce writes records with franz-go's own idempotent producer as it
// comes, without compression, and returns how long it took: what sstool's
// producer is measured against. The slices must stay as they are.
func PlainProduce(ctx context.Context, bootstrap, topic string, records iter.Seq[Record]) (time.Duration, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	var failed atomic.Pointer[error]
	for r := range records {
		client.Produce(ctx, &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return 0, err
	}
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return time.Since(start), nil
}
