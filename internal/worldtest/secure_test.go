package worldtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// Every client that Kafka's own Java client can connect with must work in
// sstool, and every one that it cannot must fail with a reason.
func TestSecureListeners(t *testing.T) {
	Require(t)
	ctx := context.Background()
	b := StartSecureBroker(t, Options{})
	h := Streams(t, Newest)
	const topic = "orders-changelog"
	var records []Record
	for i := range 100 {
		records = append(records, Record{Key: fmt.Append(nil, "k", i), Value: []byte("v")})
	}
	if err := CreateTopic(ctx, b.Bootstrap, topic, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := Produce(ctx, b.Bootstrap, topic, records...); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Clients {
		t.Run(c.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
			defer cancel()
			id, err := h.ClusterID(ctx, c.File)
			if may := err == nil; may != (c.May != "nothing") {
				t.Fatalf("Kafka's own client: cluster %q, %v; it may do %s", id, err, c.May)
			}
			n, err := readWithSstool(ctx, c, b.ClusterID, topic)
			checkSecrets(t, c, err)
			switch {
			case c.May == "read" && (err != nil || n != len(records)):
				t.Errorf("read %d records, %v", n, err)
			case c.May == "describe" && (op.KindOf(err) != op.Unreachable || !strings.Contains(err.Error(), "READ")):
				t.Errorf("without the READ ACL: %d records, %v", n, err)
			case c.May == "nothing" && err == nil:
				t.Errorf("connected, and read %d records", n)
			case c.May != "read":
				t.Logf("refused: %v\ntry: %v", err, op.Tries(err))
			}
		})
	}
}

// readWithSstool opens the cluster as a command does and reads the partition.
func readWithSstool(ctx context.Context, c SecureClient, clusterID, topic string) (int, error) {
	properties, err := kafka.LoadProperties("client properties", c.File)
	if err != nil {
		return 0, err
	}
	properties["default.api.timeout.ms"] = "60000"
	client, err := kafka.Open(ctx, kafka.Config{Properties: properties})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	id, err := client.ClusterID(ctx)
	if err != nil || id != clusterID {
		return 0, fmt.Errorf("cluster id %q, want %q: %w", id, clusterID, err)
	}
	if _, err := client.Topic(ctx, topic); err != nil {
		return 0, err
	}
	offsets, err := client.Offsets(ctx, topic, []int32{0})
	if err != nil {
		return 0, err
	}
	reader, err := client.OpenPartition(ctx, kafka.ReadOptions{
		Topic: topic, From: offsets[0].Start, To: offsets[0].End, StallTimeout: time.Minute,
	})
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	var decoder kafka.Decoder
	n := 0
	for {
		block, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		stats, err := decoder.Decode(block, func(*kafka.Record) error { return nil })
		if err != nil {
			return n, err
		}
		n += int(stats.Records)
		reader.Release(block)
	}
}

// checkSecrets: an error is shown to people and written to logs.
func checkSecrets(t *testing.T, c SecureClient, err error) {
	t.Helper()
	if err == nil {
		return
	}
	shown := fmt.Sprintf("%v %+v %#v %v", err, err, err, op.Tries(err))
	for _, secret := range c.Secrets {
		if strings.Contains(shown, secret) {
			t.Errorf("the error shows the secret %q: %s", secret, shown)
		}
	}
}
