package kafka

import (
	"strings"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxResponse bounds one response: a fetch answers with at least one whole
// batch, however large, and Kafka's own limit for a batch is an int32.
const maxResponse = 1 << 30

func (c Config) options() ([]kgo.Opt, settings, error) {
	set := settings{
		bootstrap:  c.Bootstrap,
		apiTimeout: 20 * time.Second,
		backoff:    100 * time.Millisecond,
		backoffMax: time.Second,
	}
	if len(set.bootstrap) == 0 {
		for _, s := range strings.Split(c.Properties["bootstrap.servers"], ",") {
			if s = strings.TrimSpace(s); s != "" {
				set.bootstrap = append(set.bootstrap, s)
			}
		}
	}
	if len(set.bootstrap) == 0 {
		return nil, set, op.Errorf(op.Usage, "no Kafka address").WithTry("give --bootstrap-server HOST:PORT, or bootstrap.servers in the properties file")
	}
	id := c.ClientID
	if id == "" {
		id = "sstool"
	}
	return []kgo.Opt{
		kgo.SeedBrokers(set.bootstrap...),
		kgo.ClientID(id),
		kgo.SoftwareNameAndVersion("sstool", "1"),
		kgo.DisableClientMetrics(),
		kgo.BrokerMaxReadBytes(maxResponse),
		kgo.RequestTimeoutOverhead(30 * time.Second),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}, set, nil
}
