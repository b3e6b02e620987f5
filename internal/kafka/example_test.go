package kafka_test

import (
	"context"
	"fmt"
	"io"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
)

// Reading a changelog partition from its start to its end.
func ExampleClient_OpenPartition() {
	ctx := context.Background()
	cluster, _ := kafkatest.Start(kafkatest.Options{})
	defer cluster.Close()
	cluster.Topic("orders-total-changelog", 1, "cleanup.policy", "compact")
	cluster.ProduceAll(ctx, "orders-total-changelog",
		kafkatest.Record{Key: []byte("a"), Value: []byte("1")}, kafkatest.Record{Key: []byte("b")})

	client, err := kafka.Open(ctx, kafka.Config{Bootstrap: cluster.Addrs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ends, _ := client.Offsets(ctx, "orders-total-changelog", nil)
	reader, err := client.OpenPartition(ctx, kafka.ReadOptions{
		Topic: "orders-total-changelog", Partition: 0, From: ends[0].Start, To: ends[0].End,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	var decoder kafka.Decoder
	for {
		block, err := reader.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		stats, err := decoder.Decode(block, func(r *kafka.Record) error {
			fmt.Printf("%d: %s, value null: %v\n", r.Offset, r.Key, r.Value == nil)
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("records:", stats.Records)
		reader.Release(block)
	}
	// Output:
	// 0: a, value null: false
	// 1: b, value null: true
	// records: 2
}
