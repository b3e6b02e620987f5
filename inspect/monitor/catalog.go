package monitor

import "strings"

// Metric is a metric by the name that Kafka gives it.
type Metric string

// The metrics that are judged, or that explain others.
const (
	BlockCacheDataHitRatio  Metric = "block-cache-data-hit-ratio"
	MemtableHitRatio        Metric = "memtable-hit-ratio"
	BytesReadRate           Metric = "bytes-read-rate"
	WriteStallDuration      Metric = "write-stall-duration-total"
	MemtableFlushTimeAvg    Metric = "memtable-flush-time-avg"
	EstimateNumKeys         Metric = "estimate-num-keys"
	NumKeys                 Metric = "num-keys"
	PendingCompactionBytes  Metric = "estimate-pending-compaction-bytes"
	TotalSSTFilesSize       Metric = "total-sst-files-size"
	NumImmutableMemTable    Metric = "num-immutable-mem-table"
	BackgroundErrors        Metric = "background-errors"
	RestoreRemainingRecords Metric = "restore-remaining-records-total"
	ActiveRestoringTasks    Metric = "active-restoring-tasks"
	RestoreRecordsRate      Metric = "restore-records-rate"
	RecordingLevel          Metric = "recording-level"
	RecordsLagMax           Metric = "records-lag-max"
)

// group is Kafka's group of a metric; JMX calls it the type of the bean.
type group int

const (
	stateGroup   group = iota // stream-state-metrics: by thread, task, store
	taskGroup                 // stream-task-metrics: by thread, task
	updaterGroup              // stream-state-updater-metrics: by thread
	clientGroup               // stream-metrics: by client
	fetchGroup                // consumer-fetch-manager-metrics: by client, and by partition too
)

// metricInfo is what the catalogue knows of a metric.
type metricInfo struct {
	name  Metric
	group group
	debug bool // recorded only with metrics.recording.level=DEBUG
}

// metrics is the catalogue. Names and levels are those of Kafka Streams'
// RocksDBMetrics, StateStoreMetrics, TaskMetrics, ClientMetrics and
// DefaultStateUpdater, and of the consumer's FetchMetricsRegistry.
func metrics() []metricInfo {
	return []metricInfo{
		{BlockCacheDataHitRatio, stateGroup, true},
		{MemtableHitRatio, stateGroup, true},
		{BytesReadRate, stateGroup, true},
		{WriteStallDuration, stateGroup, true},
		{MemtableFlushTimeAvg, stateGroup, true},
		{EstimateNumKeys, stateGroup, false},
		{NumKeys, stateGroup, false},
		{PendingCompactionBytes, stateGroup, false},
		{TotalSSTFilesSize, stateGroup, false},
		{NumImmutableMemTable, stateGroup, false},
		{BackgroundErrors, stateGroup, false},
		{RestoreRemainingRecords, taskGroup, true},
		{ActiveRestoringTasks, updaterGroup, false},
		{RestoreRecordsRate, updaterGroup, false},
		{RecordingLevel, clientGroup, false},
		{RecordsLagMax, fetchGroup, false},
	}
}

// Scheme is a way of spelling the metrics' names.
type Scheme string

// The schemes.
const (
	JMX        Scheme = "jmx"        // Prometheus' JMX exporter, without rules or with kafka_streams_$1_$2
	JMXShort   Scheme = "jmx-short"  // rules that leave out "stream-" or "-metrics"
	Micrometer Scheme = "micrometer" // Micrometer's KafkaStreamsMetrics, as Spring Boot shows it
	OTel       Scheme = "otel"       // KIP-714, through OpenTelemetry's collector
)

// Schemes are all schemes.
func Schemes() []Scheme { return []Scheme{JMX, JMXShort, Micrometer, OTel} }

// prefixes are what a group's names begin with in a scheme; the first is the
// one that alert rules use. Of what is not in it a name has nothing to spell.
func (s Scheme) prefixes(g group) []string {
	return map[Scheme]map[group][]string{
		JMX: {
			stateGroup:   {"kafka_streams_stream_state_metrics_"},
			taskGroup:    {"kafka_streams_stream_task_metrics_"},
			updaterGroup: {"kafka_streams_stream_state_updater_metrics_"},
			clientGroup:  {"kafka_streams_stream_metrics_"},
			fetchGroup:   {"kafka_consumer_consumer_fetch_manager_metrics_"},
		},
		JMXShort: {
			stateGroup:   {"kafka_streams_state_", "kafka_streams_stream_state_", "kafka_streams_state_metrics_", "kafka_streams_state_store_", "kafka_streams_"},
			taskGroup:    {"kafka_streams_task_", "kafka_streams_stream_task_", "kafka_streams_task_metrics_", "kafka_streams_"},
			updaterGroup: {"kafka_streams_state_updater_", "kafka_streams_stream_state_updater_", "kafka_streams_state_updater_metrics_", "kafka_streams_"},
			clientGroup:  {"kafka_streams_", "kafka_streams_stream_", "kafka_streams_metrics_"},
			fetchGroup:   {"kafka_consumer_fetch_manager_metrics_", "kafka_consumer_", "kafka_consumer_metrics_", "kafka_consumer_consumer_fetch_manager_"},
		},
		Micrometer: {
			stateGroup:   {"kafka_stream_state_"},
			taskGroup:    {"kafka_stream_task_"},
			updaterGroup: {"kafka_stream_state_updater_"},
			clientGroup:  {"kafka_stream_"},
			fetchGroup:   {"kafka_consumer_fetch_manager_"},
		},
		OTel: {
			stateGroup:   {"org_apache_kafka_stream_state_"},
			taskGroup:    {"org_apache_kafka_stream_task_"},
			updaterGroup: {"org_apache_kafka_stream_state_updater_"},
			clientGroup:  {"org_apache_kafka_stream_"},
			fetchGroup:   {"org_apache_kafka_consumer_fetch_manager_"},
		},
	}[s][g]
}

// spellings are the names of a metric in a scheme, the usual one first. What
// ends in -total is a counter, whose suffix exporters add and take away: the JMX
// exporter drops it from metrics that no rule calls a counter.
func (s Scheme) spellings(m metricInfo) []string {
	bare, counter := strings.CutSuffix(string(m.name), "-total")
	ends := []string{underscored(bare)}
	if counter {
		ends = append(ends, ends[0]+"_total")
		if s != JMX {
			ends[0], ends[1] = ends[1], ends[0]
		}
	}
	var out []string
	for _, p := range s.prefixes(m.group) {
		for _, end := range ends {
			out = append(out, p+end)
		}
	}
	return out
}

// catalog finds a metric by a name as it was scraped.
type catalog map[string]known

type known struct {
	info   metricInfo
	scheme Scheme
}

func newCatalog() catalog {
	c := catalog{}
	for _, s := range Schemes() {
		for _, m := range metrics() {
			for _, name := range s.spellings(m) {
				if _, taken := c[name]; !taken {
					c[name] = known{m, s}
				}
			}
		}
	}
	return c
}

// find looks a name up, whatever stands before the kafka in it: a namespace that
// was set for all metrics is no part of the spelling.
func (c catalog) find(name string) (known, bool) {
	if k, ok := c[name]; ok { // nearly all that are found at all
		return k, true
	}
	if len(name) > 200 {
		return known{}, false
	}
	name = underscored(name)
	for _, root := range []string{"org_apache_kafka_", "kafka_"} {
		if i := strings.Index(name, root); i >= 0 {
			k, ok := c[name[i:]]
			return k, ok
		}
	}
	return known{}, false
}

// underscored is a name in lower case, with underscores for what joins words.
func underscored(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '.' || r == '-':
			return '_'
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
