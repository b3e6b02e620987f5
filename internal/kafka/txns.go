package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kadm"
)

// OpenTxn is a transaction that is neither committed nor aborted on a partition.
type OpenTxn struct {
	ProducerID    int64
	Epoch         int16
	StartOffset   int64     // its first offset on the partition
	LastTimestamp time.Time // of the producer's last record there
	// What the coordinator says; empty when the user may not ask it.
	TransactionalID string
	Started         time.Time
	Timeout         time.Duration
}

// Age is how long the transaction has been open, as far as is known.
func (t OpenTxn) Age(now time.Time) time.Duration {
	if !t.Started.IsZero() {
		return now.Sub(t.Started)
	}
	return now.Sub(t.LastTimestamp)
}

// String is the transaction for people.
func (t OpenTxn) String() string {
	s := fmt.Sprintf("producer %d epoch %d since offset %d, %s old", t.ProducerID, t.Epoch, t.StartOffset, t.Age(time.Now()).Round(time.Second))
	if t.TransactionalID != "" {
		s += fmt.Sprintf(", transactional.id %q", t.TransactionalID)
	}
	return s
}

// AbortCommand is the command of Kafka's own that ends the transaction on a
// partition. A healthy producer's must be left to it.
func (c *Client) AbortCommand(topic string, partition int32, t OpenTxn) string {
	return fmt.Sprintf("kafka-transactions.sh --bootstrap-server %s abort --topic %s --partition %d --start-offset %d",
		strings.Join(c.set.bootstrap, ","), topic, partition, t.StartOffset)
}

// OpenTransactions lists the open transactions of a partition, the one that
// holds the last stable offset first.
func (c *Client) OpenTransactions(ctx context.Context, topic string, partition int32) ([]OpenTxn, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("describe the producers of %s-%d", topic, partition)
	need := topicACL("READ", topic)
	set := kadm.TopicsSet{}
	set.Add(topic, partition)
	dp, err := c.adm.DescribeProducers(ctx, set)
	if err != nil {
		if unsupported(err) {
			return nil, &op.Error{Kind: op.Failed, What: what, Err: err, Try: "brokers answer this from Kafka 2.8 on"}
		}
		return nil, c.explain(err, what, need)
	}
	p := dp[topic].Partitions[partition]
	if p.Err != nil {
		return nil, c.explain(p.Err, what, need)
	}
	var out []OpenTxn
	for _, a := range p.ActiveProducers {
		if a.CurrentTxnStartOffset >= 0 {
			out = append(out, OpenTxn{ProducerID: a.ProducerID, Epoch: a.ProducerEpoch, StartOffset: a.CurrentTxnStartOffset,
				LastTimestamp: time.UnixMilli(a.LastTimestamp)})
		}
	}
	slices.SortFunc(out, func(a, b OpenTxn) int { return cmp.Compare(a.StartOffset, b.StartOffset) })
	c.askCoordinators(ctx, out)
	return out, nil
}

// TransactionalIDs are the transactional ids that the cluster's coordinators
// know, by default those of the last seven days; only those that the user may
// DESCRIBE. Brokers answer from Kafka 3.0 on.
func (c *Client) TransactionalIDs(ctx context.Context) ([]string, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	listed, err := c.adm.ListTransactions(ctx, nil, nil)
	if err != nil {
		return nil, c.explain(err, "list transactions", nil)
	}
	return listed.TransactionalIDs(), nil
}

// Producing says how a partition was written lately: whether by transactions,
// and whether without. Neither when nothing is known of its producers, which
// brokers forget a day after their last record.
func (c *Client) Producing(ctx context.Context, topic string, partition int32) (transactions, without bool) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	set := kadm.TopicsSet{}
	set.Add(topic, partition)
	dp, err := c.adm.DescribeProducers(ctx, set)
	if err != nil {
		return false, false
	}
	for _, a := range dp[topic].Partitions[partition].ActiveProducers {
		transactional := a.CurrentTxnStartOffset >= 0 || a.CoordinatorEpoch >= 0
		transactions, without = transactions || transactional, without || !transactional
	}
	return transactions, without
}

// askCoordinators adds names and start times. It needs DESCRIBE on the
// transactional ids, so it is best effort.
func (c *Client) askCoordinators(ctx context.Context, txns []OpenTxn) {
	if len(txns) == 0 {
		return
	}
	var ids []int64
	for _, t := range txns {
		ids = append(ids, t.ProducerID)
	}
	listed, _ := c.adm.ListTransactions(ctx, ids, nil)
	names := listed.TransactionalIDs()
	if len(names) == 0 {
		return
	}
	described, _ := c.adm.DescribeTransactions(ctx, names...)
	for i := range txns {
		for _, l := range listed {
			if l.ProducerID != txns[i].ProducerID {
				continue
			}
			txns[i].TransactionalID = l.TxnID
			if d, ok := described[l.TxnID]; ok && d.Err == nil && d.StartTimestamp > 0 {
				txns[i].Started = time.UnixMilli(d.StartTimestamp)
				txns[i].Timeout = time.Duration(d.TimeoutMillis) * time.Millisecond
			}
		}
	}
}

// OpenTransactionError says that read_committed cannot reach the end: an open
// transaction holds the last stable offset back.
type OpenTransactionError struct {
	Topic        string
	Partition    int32
	LastStable   int64         // the position is here
	To           int64         // the end that was to be reached
	Waited       time.Duration // without progress
	Transactions []OpenTxn     // as far as the user may see them
}

// Gap is how many offsets cannot be read.
func (e *OpenTransactionError) Gap() int64 { return e.To - e.LastStable }

func (e *OpenTransactionError) Error() string {
	s := fmt.Sprintf("read %s-%d: an open transaction holds the last stable offset at %d, %d before the end offset %d; it did not end within %s",
		e.Topic, e.Partition, e.LastStable, e.Gap(), e.To, e.Waited.Round(time.Second))
	var list []string
	for _, t := range e.Transactions {
		list = append(list, t.String())
	}
	if len(list) > 0 {
		s += ": " + strings.Join(list, "; ")
	}
	return s
}

// Unwrap gives the error its kind and the next step.
func (e *OpenTransactionError) Unwrap() error {
	x := op.Errorf(op.Precondition, "open transaction")
	if len(e.Transactions) > 0 {
		return x.WithTry("kafka-transactions.sh abort --topic %s --partition %d --start-offset %d, or wait for its timeout",
			e.Topic, e.Partition, e.Transactions[0].StartOffset)
	}
	return x.WithTry("kafka-transactions.sh describe-producers --topic %s --partition %d", e.Topic, e.Partition)
}
