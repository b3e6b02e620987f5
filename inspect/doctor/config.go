package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/kafka"
)

// configChecks are about the application's properties. The values themselves
// may be secrets: only those of the settings named here are told.
func configChecks() []Check {
	asks := []need{needsConfig}
	return []Check{
		{ID: "config.guarantee", Area: AreaConfig, Title: "processing.guarantee is exactly_once_v2", Checklist: true, needs: asks, run: guarantee},
		{ID: "config.standby", Area: AreaConfig, Title: "num.standby.replicas is at least 1", Checklist: true, needs: asks, run: standby},
		{ID: "config.application-server", Area: AreaConfig, Title: "application.server is set where stores are queried", Checklist: true, needs: asks, run: applicationServer},
		{ID: "config.monitoring", Area: AreaConfig, Title: "metrics are collected", Checklist: true, run: monitoring},
		{ID: "config.state-dir", Area: AreaConfig, Title: "state.dir is set to a directory that lasts", needs: asks, run: configuredStateDir},
		{ID: "config.cleanup", Area: AreaConfig, Title: "the state is not deleted at start or stop", needs: asks, run: cleanups},
		{ID: "config.names", Area: AreaConfig, Title: "no setting is misspelt", needs: asks, run: misspelt},
		{ID: "config.timeouts", Area: AreaConfig, Title: "timeouts fit each other", needs: asks, run: timeouts},
		{ID: "config.failover", Area: AreaConfig, Title: "standby replicas can take over", needs: asks, run: failover},
		{ID: "config.topics", Area: AreaConfig, Title: "settings of internal topics lose no state", needs: asks, run: configuredTopics},
		{ID: "config.upgrade-from", Area: AreaConfig, Title: "upgrade.from is not left over", needs: asks, run: upgradeFrom},
	}
}

func guarantee(f *facts, r *report) {
	switch v := f.config.get("processing.guarantee"); v {
	case "exactly_once_v2":
		r.ok("", "exactly_once_v2")
	case "exactly_once", "exactly_once_beta":
		r.problem("", "processing.guarantee=%s", v).
			then("Kafka Streams from 4.0 on does not start with it").do("exactly_once_v2; brokers from 2.5 on have what it needs")
	case "", "at_least_once":
		r.warn("", "processing.guarantee is at_least_once%s", map[bool]string{true: ", the default"}[v == ""]).
			then("after a failure records are processed again: what adds up (counts, sums) in stores is too high then").
			do("exactly_once_v2; or, where duplicates do no harm, state so in the review")
	default:
		r.problem("", "processing.guarantee=%s is none", v).then("Kafka Streams does not start").do("exactly_once_v2 or at_least_once")
	}
}

func standby(f *facts, r *report) {
	v := f.config.get("num.standby.replicas")
	n, err := strconv.Atoi(v)
	switch {
	case v != "" && err != nil:
		r.problem("", "num.standby.replicas=%s is no number", v).then("Kafka Streams does not start").do("1")
	case n < 1:
		r.warn("", "no standby replicas").
			then("when an instance is lost, its tasks stand still until another one has restored them from the changelogs").
			do("num.standby.replicas=1, with at least two instances; it takes the same room once more")
	default:
		r.ok("", "num.standby.replicas=%d", n)
	}
}

func applicationServer(f *facts, r *report) {
	v := f.config.get("application.server")
	host, port, ok := strings.Cut(v, ":")
	if i := strings.LastIndexByte(v, ':'); ok {
		host, port = v[:i], v[i+1:]
	}
	_, err := strconv.ParseUint(port, 10, 16)
	placeholder := strings.Contains(v, "${")
	switch {
	case v == "":
		r.review("needed when other instances or a service ask these stores (interactive queries); it is not set").
			do("application.server=HOST:PORT of this instance, as others reach it")
	case placeholder:
		r.ok("", "application.server is filled in when the application starts")
	case !ok || host == "" || err != nil:
		r.problem("", "application.server is not HOST:PORT").then("Kafka Streams does not start").do("HOST:PORT of this instance, as others reach it")
	case slices.Contains([]string{"localhost", "127.0.0.1", "0.0.0.0", "[::1]"}, host):
		r.warn("", "application.server=%s is reached from this host only", v).then("other instances send queries for these tasks to themselves").do("the name that others reach this instance by")
	default:
		r.ok("", "application.server=%s", v)
	}
}

// monitoring looks for metrics that go somewhere: reporters of the properties,
// and JMX on the command line of the process that runs.
func monitoring(f *facts, r *report) {
	var seen []string
	for _, name := range []string{"metric.reporters", "main.consumer.metric.reporters"} {
		if v := f.config.get(name); v != "" {
			seen = append(seen, name+"="+v)
		}
	}
	if pid := f.holder(); pid > 0 {
		seen = append(seen, watchersOf(pid)...)
	}
	level := f.config.get("metrics.recording.level")
	switch {
	case len(seen) > 0:
		x := r.ok("", "metrics are collected")
		for _, s := range seen {
			x.because("%s", s)
		}
		if level == "" || level == "INFO" {
			x.because("metrics.recording.level=INFO: RocksDB's own statistics (block cache, stalls, compaction) need DEBUG")
		}
	default:
		x := r.review("nothing seen: neither metric.reporters nor, of a process that runs here, JMX or an agent")
		if f.config == nil {
			x.because("the application's properties are not given (--app-config)")
		}
		x.do("the JMX exporter (-javaagent:jmx_prometheus_javaagent.jar), Micrometer's KafkaStreamsMetrics, or KIP-714; then sstool monitor")
	}
}

func configuredStateDir(f *facts, r *report) {
	v := f.config.get("state.dir")
	switch {
	case v == "":
		r.problem("", "state.dir is not set: the state lies in kafka-streams under the JVM's temporary directory").
			then("a reboot or a cleaner of /tmp deletes it while the application runs or before it starts: everything is restored").
			do("state.dir=/var/lib/kafka-streams, on a disk that lasts")
	case strings.Contains(v, "${"):
		r.unmeasured("", "state.dir is filled in when the application starts")
	case inspect.Temporary(v) != "":
		r.problem(v, "the state lies %s", inspect.Temporary(v)).then("it is gone after a reboot or a clean-up").do("a directory that lasts, such as /var/lib/kafka-streams")
	default:
		r.ok(v, "a directory that lasts")
	}
}

// cleanups finds the switches of Spring with which the state goes at every
// start or stop.
func cleanups(f *facts, r *report) {
	for _, name := range slices.Sorted(maps.Keys(f.config.Lifecycle)) {
		v := strings.TrimSpace(f.config.Lifecycle[name])
		if strings.HasPrefix(name, "cleanup.on-") && strings.EqualFold(v, "true") {
			r.problem("", "%s=true", name).
				then("KafkaStreams.cleanUp() deletes the local state each time: every start restores everything").do("%s=false (the default of Spring from 2.7 on)", name)
		}
	}
	if f.state != nil && len(f.stores()) == 0 && f.cluster != nil && len(f.cluster.committed) > 0 {
		r.warn(f.state.Path, "no state here, but the group has committed offsets").
			then("the application restores everything; when it does so at each start, something deletes the directory").
			do("look for cleanUp(), cleanup.on-shutdown of Spring, and volumes that do not last")
	}
}

// clientPrefixes are those that Kafka Streams takes off a name, and who has
// the rest.
func clientPrefixes() [][2]string {
	return [][2]string{{"main.consumer.", "c"}, {"restore.consumer.", "c"}, {"global.consumer.", "c"}, {"consumer.", "c"}, {"producer.", "p"}, {"admin.", "a"}, {"topic.", "t"}}
}

// ownerOf takes a client's prefix off a name, and says who has the rest.
func ownerOf(key string) (name, who, prefix string) {
	for _, p := range clientPrefixes() {
		if rest, ok := strings.CutPrefix(key, p[0]); ok {
			return rest, p[1], p[0]
		}
	}
	return key, "scpa", ""
}

// misspelt finds names that are nearly one of Kafka's. Others are the
// application's own: serializers and interceptors have theirs.
func misspelt(f *facts, r *report) {
	own := 0
	for _, key := range slices.Sorted(maps.Keys(f.config.Set)) {
		name, who, prefix := ownerOf(key)
		known := namesOf(who)
		if slices.Contains(known, name) {
			continue
		}
		own++
		near := kafka.Nearest(name, known, 1)
		if len(near) == 0 || !slight(name, near[0]) {
			continue
		}
		r.warn("", "%s is none of Kafka's settings", key).because("the nearest is %s%s", prefix, near[0]).
			then("Kafka Streams ignores it, with a line in the log: the default holds").do("%s%s, if that is meant", prefix, near[0])
	}
	if len(r.findings) == 0 {
		r.ok("", "%d settings, %d of them the application's own", len(f.config.Set), own)
	}
}

// slight says whether one name is likely the other misspelt: the same words
// with other separators, or two letters off.
func slight(a, b string) bool {
	plain := func(s string) string {
		return strings.NewReplacer(".", "", "_", "", "-", "").Replace(strings.ToLower(s))
	}
	if plain(a) == plain(b) {
		return true
	}
	return len(a) > 8 && abs(len(a)-len(b)) <= 2 && len(kafka.Nearest(a, []string{b}, 1)) > 0 && letters(a, b) <= 2
}

func abs(n int) int { return max(n, -n) }

// letters is how many letters one has that the other has not.
func letters(a, b string) int {
	count := map[rune]int{}
	for _, c := range a {
		count[c]++
	}
	for _, c := range b {
		count[c]--
	}
	more, less := 0, 0
	for _, n := range count {
		more, less = more+max(n, 0), less+max(-n, 0)
	}
	return max(more, less)
}

func timeouts(f *facts, r *report) {
	c := f.config
	ms := func(v string, without int64) time.Duration {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			without = n
		}
		return time.Duration(without) * time.Millisecond
	}
	eos := strings.HasPrefix(c.get("processing.guarantee"), "exactly_once")
	if eos {
		commit := ms(c.get("commit.interval.ms"), 100)
		txn := ms(c.client("producer.", "transaction.timeout.ms"), 10_000)
		if txn <= commit {
			r.problem("", "transaction.timeout.ms (%s) is not more than commit.interval.ms (%s)", human.Duration(txn), human.Duration(commit)).
				then("transactions are aborted before they are committed, or Kafka Streams does not start").do("producer.transaction.timeout.ms at least three times commit.interval.ms")
		}
		if txn > longestTransaction {
			r.warn("", "transaction.timeout.ms is %s", human.Duration(txn)).
				then("brokers refuse more than transaction.max.timeout.ms, %s by default; and a transaction that hangs stops readers for that long", human.Duration(longestTransaction)).do("a minute or less")
		}
	}
	poll := ms(c.client("main.consumer.", "max.poll.interval.ms"), 300_000)
	if v := c.get("consumer.max.poll.interval.ms"); v != "" && c.get("main.consumer.max.poll.interval.ms") == "" {
		poll = ms(v, 300_000)
	}
	if poll < time.Minute {
		r.warn("", "max.poll.interval.ms is %s", human.Duration(poll)).
			then("a write stall of RocksDB, a slow punctuator or the opening of many stores throws the instance out of the group, its tasks move, and are restored elsewhere").do("five minutes, the default, or more")
	}
	if session := ms(c.client("main.consumer.", "session.timeout.ms"), 0); session > poll {
		r.warn("", "session.timeout.ms (%s) is more than max.poll.interval.ms (%s)", human.Duration(session), human.Duration(poll)).
			then("an instance that died is noticed later than one that hangs").do("a session timeout of 45 s, the default")
	}
	if len(r.findings) == 0 {
		r.ok("", "timeouts fit each other")
	}
}

func failover(f *facts, r *report) {
	lag := f.config.get("acceptable.recovery.lag")
	n, err := strconv.ParseInt(lag, 10, 64)
	switch {
	case lag == "":
	case err != nil:
		r.problem("", "acceptable.recovery.lag is no number").then("Kafka Streams does not start").do("10000, the default")
	case n == 0:
		r.warn("", "acceptable.recovery.lag=0: a standby replica is never caught up while records come in").
			then("tasks go to instances without state, and are restored there").do("10000, the default, or what is written in a few seconds")
	case n > 10_000_000:
		r.warn("", "acceptable.recovery.lag=%d", n).then("a task may go to an instance that has to replay as many records first, while nothing is processed").do("10000, the default, or what is written in a few seconds")
	}
	if v, err := strconv.ParseInt(f.config.get("probing.rebalance.interval.ms"), 10, 64); err == nil && v > time.Hour.Milliseconds() {
		r.warn("", "probing.rebalance.interval.ms=%d", v).then("a replica that is warm waits that long until it gets its task").do("600000, the default")
	}
	if len(r.findings) == 0 {
		r.ok("", "standby replicas take over when they are at most %s records behind", map[bool]string{true: "10000", false: lag}[lag == ""])
	}
}

func configuredTopics(f *facts, r *report) {
	for _, name := range slices.Sorted(maps.Keys(f.config.Set)) {
		rest, ok := strings.CutPrefix(name, "topic.")
		if !ok || !slices.Contains([]string{"cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type", "delete.retention.ms"}, rest) {
			continue
		}
		r.warn("", "%s=%s holds for every internal topic that is made, changelogs and repartition topics alike", name, f.config.get(name)).
			then("%s", map[string]string{
				"cleanup.policy":         "key-value changelogs must compact, repartition topics must delete: one of them loses records",
				"retention.ms":           "repartition topics lose records that were not processed yet, and windows may go before their stores drop them",
				"retention.bytes":        "topics that delete lose records however young they are; of compacted ones it does nothing",
				"message.timestamp.type": "with LogAppendTime the times of rows are those of the broker",
				"delete.retention.ms":    "state that is older must not be resumed: rows that were deleted meanwhile live again",
			}[rest]).do("set it on the topics that need it: Materialized.withLoggingEnabled(config)")
	}
	if v := f.config.get("replication.factor"); v == "1" && f.brokers != 1 {
		x := r.warn("", "replication.factor=1").then("internal topics have one copy: a broker that is lost takes the state with it").do("3, or -1 for the broker's default")
		if f.brokers == 0 {
			x.because("how many brokers there are is not known")
		}
	}
	if len(r.findings) == 0 {
		r.ok("", "nothing that changes what Kafka Streams sets itself")
	}
}

func upgradeFrom(f *facts, r *report) {
	if v := f.config.get("upgrade.from"); v != "" {
		r.warn("", "upgrade.from=%s", v).
			then("the application goes on in the old version's rebalance protocol and forms").
			do("take it out when every instance runs the new version, and roll once more")
		return
	}
	r.ok("", "not set")
}

// review says what only a person can judge, with what was seen.
func (r *report) review(format string, args ...any) *finding {
	return r.unmeasured("", "for review: %s", fmt.Sprintf(format, args...))
}
