package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// FreeSpace is what is free on the file system of the fullest log directory of
// any broker; not ok where the brokers do not tell: before Kafka 3.3, or
// without DESCRIBE on Cluster.
func (c *Client) FreeSpace(ctx context.Context) (free int64, ok bool) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	dirs, err := c.adm.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return 0, false
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		if d.Err == nil && d.UsableBytes >= 0 && (!ok || d.UsableBytes < free) {
			free, ok = d.UsableBytes, true
		}
	})
	return free, ok
}
