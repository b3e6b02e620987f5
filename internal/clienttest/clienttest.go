// Package clienttest starts an embedded cluster for a test, with a client of it.
package clienttest

import (
	"context"
	"testing"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
)

// Start starts a cluster and opens a client; both end with the test.
func Start(t testing.TB, o kafkatest.Options) (*kafkatest.Cluster, *kafka.Client) {
	t.Helper()
	cluster, err := kafkatest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kafka.Open(context.Background(), kafka.Config{Bootstrap: cluster.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return cluster, client
}
