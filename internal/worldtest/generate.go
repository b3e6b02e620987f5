package worldtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// GenOptions describe a benchmark changelog. The same options give the same
// bytes.
type GenOptions struct {
	Topic        string
	Partitions   int           // default 1
	Records      int64         // in all partitions together
	Keys         int64         // distinct keys, drawn at random; default a quarter of Records
	TombstonePct float64       // share of null values, in per cent
	Codec        string        // none (default), gzip, snappy, lz4, zstd
	Kind         string        // kv, timestamped-kv (default), window, timestamped-window, session, versioned
	KeyShape     string        // see KeyShapes; default hashed
	KeyBytes     int           // size of a key, without window times; default 16 to 24
	ValueBytes   int           // mean size of a value; default 100
	BatchBytes   int           // size of a batch before compression; default 1,000,000
	Retention    time.Duration // windows and sessions: record times span nine tenths of it; default 1 h
	Seed         uint64
}

// KeyShapes are the orders and forms of keys: random in key order, in key
// order, a long common prefix, a few keys most of the time, one byte.
func KeyShapes() []string { return []string{"hashed", "sorted", "prefixed", "skewed", "tiny"} }

// GenResult is what was generated.
type GenResult struct {
	Records    int64
	Tombstones int64
	Bytes      int64   // keys and values
	Live       int64   // distinct keys whose last record has a value; as many rows for kv and timestamped-kv
	Partition  []int64 // records per partition
	Seconds    float64
}

// Generate creates a topic and fills it with what a store of the given kind
// would have logged. It builds batches itself, a million records a second and
// more.
func Generate(ctx context.Context, bootstrap string, o GenOptions) (GenResult, error) {
	o = o.withDefaults()
	start := time.Now()
	config := map[string]string{
		// As Kafka Streams creates it, but never cleaned: a benchmark reads it many times.
		"cleanup.policy": "compact", "message.timestamp.type": "CreateTime", "retention.ms": "-1",
		"min.cleanable.dirty.ratio": "0.99", "min.compaction.lag.ms": "86400000000",
	}
	if size := 2 * (o.BatchBytes + o.ValueBytes + o.KeyBytes); size > 1_000_000 {
		config["max.message.bytes"] = strconv.Itoa(max(size, 4<<20))
	}
	if err := CreateTopic(ctx, bootstrap, o.Topic, int32(o.Partitions), config); err != nil {
		return GenResult{}, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return GenResult{}, err
	}
	defer client.Close()
	details, err := kadm.NewClient(client).ListTopics(ctx, o.Topic)
	if err != nil {
		return GenResult{}, err
	}
	id := details[o.Topic].ID

	g := &generator{o: o, rand: rand.New(rand.NewPCG(o.Seed, 1)), last: make([]byte, o.Keys)}
	group, ctx := errgroup.WithContext(ctx)
	for p := range o.Partitions {
		sender := &sender{client: client, topic: o.Topic, id: id, partition: int32(p), full: make(chan *batch, 2)}
		sender.free = make(chan *batch, cap(sender.full)+2)
		for range cap(sender.free) {
			sender.free <- &batch{}
		}
		if sender.codec, err = newCodec(o.Codec); err != nil {
			return GenResult{}, err
		}
		g.senders = append(g.senders, sender)
		group.Go(func() error { return sender.run(ctx) })
	}
	group.Go(func() error { return g.run(ctx) })
	err = group.Wait()
	result := g.result
	for _, last := range g.last {
		if last == hasValue {
			result.Live++
		}
	}
	result.Seconds = time.Since(start).Seconds()
	return result, err
}

func (o GenOptions) withDefaults() GenOptions {
	o.Partitions = max(o.Partitions, 1)
	if o.Keys == 0 {
		o.Keys = max(o.Records/4, 1)
	}
	if o.Kind == "" {
		o.Kind = "timestamped-kv"
	}
	if o.KeyShape == "" {
		o.KeyShape = "hashed"
	}
	if o.KeyShape == "tiny" {
		o.Keys = min(o.Keys, 256)
	}
	if o.ValueBytes == 0 {
		o.ValueBytes = 100
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = 1_000_000
	}
	if o.Retention == 0 {
		o.Retention = time.Hour
	}
	return o
}

// sender writes one partition's batches in order.
type sender struct {
	client    *kgo.Client
	topic     string
	id        [16]byte
	partition int32
	codec     *codec
	full      chan *batch // to send
	free      chan *batch // to fill
	filling   *batch
}

func (s *sender) run(ctx context.Context) error {
	for b := range s.full {
		encoded, err := b.encode(s.codec)
		if err != nil {
			return err
		}
		b.reset()
		s.free <- b // never blocks: it has room for all
		if err := s.send(ctx, encoded); err != nil {
			return fmt.Errorf("produce to %s-%d: %w", s.topic, s.partition, err)
		}
	}
	return nil
}

func (s *sender) send(ctx context.Context, encoded []byte) error {
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis = 1, 30000
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID = s.topic, s.id
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Partition, partition.Records = s.partition, encoded
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	for attempt := 0; ; attempt++ {
		response, err := request.RequestWith(ctx, s.client)
		if err != nil {
			return err
		}
		code := response.Topics[0].Partitions[0].ErrorCode
		err = kerr.ErrorForCode(code)
		// A topic just created may have no leader yet.
		if err == nil || !kerr.IsRetriable(err) || attempt == 600 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// generator draws records; one goroutine, so that they are always the same.
type generator struct {
	o       GenOptions
	rand    *rand.Rand
	senders []*sender
	result  GenResult
	last    []byte // per key: what its last record was
	key     []byte
	value   []byte
}

const (
	hasValue  = 1
	tombstone = 2
)

// GenBase is the time of the first record that Generate writes; each is a
// millisecond after the one before, except in windows and sessions.
const GenBase = 1_750_003_200_000 // a full hour of June 2025

func (g *generator) run(ctx context.Context) error {
	defer func() {
		for _, s := range g.senders {
			close(s.full)
		}
	}()
	g.result.Partition = make([]int64, len(g.senders))
	g.value = make([]byte, g.o.ValueBytes*6/5+1)
	span := float64(g.o.Retention.Milliseconds()) * 0.9
	for i := range g.o.Records {
		id := g.draw(i)
		ts := GenBase + i
		if g.segmented() {
			ts = GenBase + int64(float64(i)*span/float64(g.o.Records))
		}
		key := g.makeKey(id, ts)
		value := g.makeValue(i)
		if g.rand.Float64()*100 < g.o.TombstonePct {
			value = nil
			g.last[id] = tombstone
			g.result.Tombstones++
		} else {
			g.last[id] = hasValue
		}
		g.result.Records++
		g.result.Bytes += int64(len(key) + len(value))
		p := int(id % int64(len(g.senders)))
		g.result.Partition[p]++
		if err := g.senders[p].add(ctx, ts, key, value, g.o.BatchBytes); err != nil {
			return err
		}
	}
	for _, s := range g.senders {
		if s.filling != nil && s.filling.count > 0 {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sender) add(ctx context.Context, ts int64, key, value []byte, limit int) error {
	if s.filling == nil {
		select {
		case s.filling = <-s.free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.filling.add(ts, key, value)
	if len(s.filling.body) < limit {
		return nil
	}
	return s.flush(ctx)
}

func (s *sender) flush(ctx context.Context) error {
	select {
	case s.full <- s.filling:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.filling = nil
	return nil
}

func (g *generator) segmented() bool {
	return g.o.Kind == "window" || g.o.Kind == "timestamped-window" || g.o.Kind == "session"
}

// draw is the number of record i's key.
func (g *generator) draw(i int64) int64 {
	switch g.o.KeyShape {
	case "sorted":
		return i * g.o.Keys / g.o.Records
	case "skewed": // nine of ten records go to one key in a thousand
		if g.rand.IntN(10) > 0 {
			return g.rand.Int64N(max(g.o.Keys/1000, 1))
		}
	}
	return g.rand.Int64N(g.o.Keys)
}

// makeKey is a store's key for key number id at time ts, in reused memory.
func (g *generator) makeKey(id, ts int64) []byte {
	k := g.userKey(g.key[:0], id)
	const minute = 60_000
	start := uint64(ts - ts%minute)
	switch g.o.Kind {
	case "window", "timestamped-window":
		k = binary.BigEndian.AppendUint64(k, start)
		k = binary.BigEndian.AppendUint32(k, 0) // sequence number
	case "session":
		k = binary.BigEndian.AppendUint64(k, start+minute/2)
		k = binary.BigEndian.AppendUint64(k, start)
	}
	g.key = k
	return k
}

func (g *generator) userKey(k []byte, id int64) []byte {
	h := uint64(id+1) * 0x9E3779B97F4A7C15
	switch g.o.KeyShape {
	case "tiny":
		return append(k, byte(id))
	case "sorted":
		h = uint64(id)
	case "prefixed":
		return fmt.Appendf(k, "customer-%0*d", max(g.o.KeyBytes-9, 15), id)
	}
	size := g.o.KeyBytes
	if size == 0 {
		size = 16 + int(h>>59)%9
	}
	k = binary.BigEndian.AppendUint64(k, h)
	const digits = "0123456789abcdef"
	for j := 8; j < size; j++ {
		k = append(k, digits[(h>>(uint(j)*2%60))&15])
	}
	return k
}

// makeValue is record i's value: partly random, partly words, as much
// compressible as real values are; in reused memory.
func (g *generator) makeValue(i int64) []byte {
	const words = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua "
	spread := g.o.ValueBytes * 2 / 5
	size := g.o.ValueBytes - spread/2
	if spread > 0 {
		size += g.rand.IntN(spread + 1)
	}
	v := g.value[:size]
	if size < 24 {
		for j := range v {
			v[j] = byte(i >> (8 * (j % 8)))
		}
		return v
	}
	binary.BigEndian.PutUint64(v, uint64(i))
	binary.LittleEndian.PutUint64(v[8:], g.rand.Uint64())
	binary.LittleEndian.PutUint64(v[16:], g.rand.Uint64())
	rest := v[24:]
	for from := g.rand.IntN(len(words)); len(rest) > 0; from = 0 {
		rest = rest[copy(rest, words[from:]):]
	}
	return v
}
