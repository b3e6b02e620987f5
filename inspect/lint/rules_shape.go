package lint

// shapeRules are about the topology's shape and its partitions.
func shapeRules() []Rule {
	return []Rule{
		{ID: "T1", Name: "key-changed-before-state", Severity: Warning,
			Title: "a stateful processor is fed by a key change without a repartition",
			Why: "Rows of one key must reach one task. The DSL repartitions before its own aggregations and joins, but not before process() or transform() with a store: after a key change the same key sits in several tasks, " +
				"each with a part of the state.",
			Fix: "Put repartition(Repartitioned.as(\"x\")) between the key change and the processor; use mapValues where the key does not change.",
			Bad: `orders.selectKey(byUser).process(Dedup::new, "seen");`, Good: `orders.selectKey(byUser).repartition(Repartitioned.as("orders-by-user")).process(Dedup::new, "seen");`},
		{ID: "T2", Name: "global-store-misused", Severity: Error,
			Title: "a global store is in the wrong place",
			Why: "A global store is filled by a thread of its own from one topic and has no changelog: what its processor forwards goes nowhere, a topic that is also read by a task is refused (already registered by another source), " +
				"and a repartition topic is purged as it is read, so a global store on it loses rows.",
			Fix: "Feed the global store from a compacted topic of its own; write the topic with to() elsewhere.",
			Bad: `builder.globalTable("rates"); builder.stream("rates")`, Good: `GlobalKTable<String, Rate> rates = builder.globalTable("rates", Materialized.as("rates"));`},
		{ID: "T3", Name: "source-is-changelog", Severity: Info,
			Title: "a table's source topic may be its changelog",
			Why: "With topology.optimization (all, or reuse.ktable.source.topics) the store of builder.table(topic) has no changelog: it is restored from your topic. The topic must be compacted and must never be renamed, truncated or given foreign tombstones. " +
				"Without it the same rows lie in a changelog too. Turning it on or off changes where the state is.",
			Fix: "Decide it, and say so with topology-optimization in .sstool-lint.yaml. When on: cleanup.policy=compact on the topic.",
			Bad: `builder.table("accounts")           // store accounts-STATE-STORE-…, changelog: accounts or <application.id>-…-changelog`},
		{ID: "T4", Name: "pattern-source", Severity: Info,
			Title: "a source reads all topics that match a pattern",
			Why:   "A new topic that matches may have more partitions than the others: the number of tasks grows, and a store's existing changelog has too few partitions. The application then stops at the next rebalance.",
			Fix:   "List the topics, or create those that match with equal partition counts.",
			Bad:   `builder.stream(Pattern.compile("events-.*"))`, Good: `builder.stream(List.of("events-eu", "events-us"))`},
		{ID: "T5", Name: "join-gains-store", Severity: Info,
			Title: "a left or outer join of before Kafka 3.1 gains a store with an upgrade",
			Why:   "Since KAFKA-10847 a left or outer stream-stream join has a third, shared store for rows that found no partner. This topology has two: the same code on a newer Kafka adds KSTREAM-OUTERSHARED-n-store and its changelog, without any other number changing.",
			Fix:   "Name the stores with StreamJoined.as before the upgrade, and allow the new topic in ACLs.",
			Bad:   `left.leftJoin(right, joiner, window)     // described by Kafka 3.0 or older`},
		{ID: "P1", Name: "co-partitioning", Severity: Error, Needs: needsPartitions,
			Title: "topics that meet in one store have different partition counts",
			Why: "A key's records must be in the same partition of all topics that are joined. Kafka Streams refuses to start (TopologyException: topics not co-partitioned) for joins; for a merge before an aggregation it does not notice, " +
				"and the rows of one key are split over two tasks.",
			Fix: "Give the topics equal partition counts, or put repartition(Repartitioned.as(\"x\").withNumberOfPartitions(n)) in front of one.",
			Bad: `orders (6 partitions) .join( users (4 partitions) )`, Good: `orders.repartition(Repartitioned.as("orders-4").withNumberOfPartitions(4)).join(users)`},
		{ID: "P2", Name: "changelog-partitions", Severity: Error, Needs: needsCluster,
			Title: "a changelog's partitions are not the sub-topology's tasks",
			Why:   "Kafka Streams compares them at start and stops: existing internal topic has invalid partitions, expected 6, actual 4. It happens when a source topic got more partitions, or when the broker created the changelog on its own.",
			Fix:   "Keep the partition count of source topics; else reset the application (kafka-streams-application-reset), or repartition to the old number with Repartitioned.as(\"x\").withNumberOfPartitions(n).",
			Bad:   `orders: 6 partitions, shop-totals-changelog: 4`, Good: `both 6`},
		{ID: "P3", Name: "repartition-partitions", Severity: Warning, Needs: needsCluster,
			Title: "a repartition topic's partitions differ from what feeds it",
			Why: "Unless Repartitioned.withNumberOfPartitions says otherwise, Kafka Streams wants as many partitions as the sub-topology before it has tasks, and stops at start when the existing topic has another number. " +
				"The topology's text does not tell whether a number was given.",
			Fix: "Check the number against withNumberOfPartitions; else drain and delete the topic, or reset the application.",
			Bad: `orders: 6 partitions, shop-orders-by-user-repartition: 4`, Good: `both 6, or withNumberOfPartitions(4)`},
		{ID: "P4", Name: "missing-topic", Severity: Error, Needs: needsCluster,
			Title: "a source topic does not exist",
			Why:   "Kafka Streams creates its internal topics only. Without a source topic the application shuts down at its first rebalance (MissingSourceTopicException).",
			Fix:   "Create the topic before the deploy, with the partition count that the state needs.",
			Bad:   `builder.stream("ordres")`, Good: `builder.stream("orders")`},
		{ID: "P5", Name: "misplaced-keys", Severity: Warning, Needs: needsSample,
			Title: "keys do not lie where the default partitioner puts them",
			Why: "Two topics with equal partition counts join only when their producers place a key alike. Clients that are not Java's often hash otherwise (librdkafka: CRC32 unless partitioner=murmur2_random), and some producers use partitioners of their own: " +
				"the join then finds no partner, without any error.",
			Fix: "Set partitioner=murmur2_random in librdkafka clients, or repartition(Repartitioned.as(\"x\")) before the join.",
			Bad: `a Python producer with the default partitioner, joined with a Java producer's topic`, Good: `partitioner=murmur2_random`},
	}
}

// stateRules compare with what exists, and with the input's own form.
func stateRules() []Rule {
	return []Rule{
		{ID: "S1", Name: "state-left-behind", Severity: Error, Needs: needsState,
			Title: "state exists that no store of the topology will read",
			Why: "A changelog or a directory of this application has a name that the topology no longer has. If the store was renamed, or its generated number shifted, its state is lost to the application: the new name starts empty and is rebuilt only from what its input topics still hold. " +
				"The old topic and directory stay until somebody deletes them.",
			Fix: "Pin the old name with Materialized.as so that the state is found again, or rename the state; delete what is really gone.",
			Bad: `on disk KSTREAM-AGGREGATE-STATE-STORE-0000000002, in the topology …0000000003`, Good: `Materialized.as("clicks-per-user"), and the state renamed`},
		{ID: "S2", Name: "store-moved", Severity: Error, Needs: needsState,
			Title: "a store moved to another sub-topology",
			Why: "A task's directory is <sub-topology>_<partition>, and sub-topologies are numbered in order: one that comes or goes moves all later ones. What lies in the old directories is not opened, and the tasks restore from the changelog; " +
				"old directories with other stores in them confuse up to Kafka 4.4 (KAFKA-13009).",
			Fix: "Plan for a full restore (sstool restore --measure tells how long), or prepare the directories with sstool restore --into. Partition counts must be equal.",
			Bad: `on disk 1_0/rocksdb/totals, in the topology totals is in sub-topology 2`},
		{ID: "I1", Name: "unparsed-line", Severity: Warning,
			Title: "a line of the text was not understood",
			Why:   "A line that is not part of a topology may be a log line, or a node in a form that is not known: then the findings are incomplete.",
			Fix:   "Give the text of Topology#describe() alone, or --from-log for a log.",
			Bad:   "   Sub-topology: 0\n  ![picture](x.png)"},
		{ID: "I2", Name: "contradicting-text", Severity: Warning,
			Title: "the text contradicts itself",
			Why:   "The arrows of two nodes do not agree, or the text was put together from several. What follows \"-->\" is taken for right.",
			Fix:   "Print topology.describe() anew.",
			Bad:   "    Source: s (topics: [t])\n      --> a\n    Processor: b (stores: [])\n      <-- s"},
		{ID: "I3", Name: "useless-ignore", Severity: Warning,
			Title: "an ignore of the configuration has expired or is not needed",
			Why:   "An ignore that no finding needs hides the next one that would match it. One that has expired is no longer applied.",
			Fix:   "Delete it from .sstool-lint.yaml, or renew its date with a reason.",
			Bad:   `ignore: [{rule: C8, name: old-store, reason: "renamed in May", expires: 2024-06-01}]`},
		{ID: "I4", Name: "incomplete-topology", Severity: Warning,
			Title: "the topology was judged without its nodes",
			Why: "Brokers hold what they need to assign tasks of an application with group.protocol=streams: the topics of each sub-topology and its changelogs. Processors, arrows, global stores and stores without a changelog of their own are not among it, " +
				"so that rules about them say nothing: that is not a clean bill.",
			Fix: "Give the text of Topology#describe(). Brokers of Kafka 4.4 keep it when group.streams.topology.description.plugin.class is set (KIP-1331).",
			Bad: `sstool lint --application-id orders --bootstrap-server localhost:9092`, Good: `sstool lint topology.txt --application-id orders --bootstrap-server localhost:9092`},
	}
}
