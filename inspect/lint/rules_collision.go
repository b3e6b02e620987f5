package lint

// collisionRules are C1 to C7 and C9 to C12: two things that want one name.
func collisionRules() []Rule {
	return []Rule{
		{ID: "C1", Name: "duplicate-store", Severity: Error,
			Title: "two stores have the same name",
			Why: "Kafka Streams refuses such a topology (TopologyException: a different StateStore has already been added); up to 2.5 it took a global and a local store of one name and one hid the other. " +
				"Two applications with one application.id share changelogs and consumer group: they overwrite each other's state.",
			Fix: "Give each store a name of its own with Materialized.as, and each application its own application.id. Processors that should share a store are connected to the one that exists.",
			Bad: `clicks.groupByKey().count(Materialized.as("per-user"));
views.groupByKey().count(Materialized.as("per-user"));`,
			Good: `clicks.groupByKey().count(Materialized.as("clicks-per-user"));
views.groupByKey().count(Materialized.as("views-per-user"));`},
		{ID: "C2", Name: "metric-clash", Severity: Error,
			Title: "two topics differ only in '.' and '_'",
			Why: "Metrics know no difference between '.' and '_', so the broker refuses the second topic: InvalidTopicException, topic collides with existing topic. " +
				"The topology builds and passes every test; the application fails when it is deployed and its internal topics are created.",
			Fix: "Change one of the names with Materialized.as, Grouped.as, Repartitioned.as or whatever named it, and use one separator throughout.",
			Bad: `clicks.groupByKey().count(Materialized.as("per.user"));
views.groupByKey().count(Materialized.as("per_user"));`,
			Good: `clicks.groupByKey().count(Materialized.as("clicks-per-user"));
views.groupByKey().count(Materialized.as("views-per-user"));`},
		{ID: "C3", Name: "topic-name", Severity: Error,
			Title: "the name of a topic is too long or has illegal characters",
			Why: "Kafka Streams checks the store's name alone; names given to Stores.* it does not check at all. The topic is <application.id>-<store>-changelog, at most 249 of a-z A-Z 0-9 . _ -, and is checked when it is created: " +
				"the application fails after it was deployed.",
			Fix: "Shorten the name or the application id: a store may have 249 - 11 - length(application.id) characters, the base of a repartition topic 249 - 13 - length(application.id).",
			Bad: `Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("my store/1"), keys, values)`, Good: `Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("my-store-1"), keys, values)`},
		{ID: "C4", Name: "cross-application", Severity: Error, Needs: needsSeveral,
			Title: "two applications make the same topic name",
			Why: "The application id and the store's name are joined by '-', which both may contain: application a with store b-c and application a-b with store c both write a-b-c-changelog. " +
				"Nothing checks it: two applications write one changelog, and each restores the other's rows.",
			Fix: "Change one of the application ids or names. Ids without '-' cannot meet.",
			Bad: `application.id=shop       Materialized.as("eu-totals")
application.id=shop-eu    Materialized.as("totals")        // both: shop-eu-totals-changelog`, Good: `application.id=shop       Materialized.as("totals-eu")
application.id=shop-eu    Materialized.as("totals")`},
		{ID: "C5", Name: "internal-topic-used", Severity: Error, Needs: needsID,
			Title: "an internal topic is used as an input or output",
			Why: "Internal topics belong to Kafka Streams: their form changes with the version, transactions and tombstones are its own, the reset tool and a rename delete them. " +
				"A sink into a changelog puts foreign rows into the store at the next restore.",
			Fix: "Write what others should read into a topic of your own: toStream().to(\"orders.totals\").",
			Bad: `builder.stream("orders-totals-changelog")      // application.id=orders, store totals`, Good: `totals.toStream().to("orders.totals");`},
		{ID: "C6", Name: "prefix-of-application", Severity: Warning, Needs: needsSeveral,
			Title: "an application id is the beginning of another one",
			Why:   "Internal topics are found by the prefix <application.id>-. With ids my-app and my-app-v2, tools that match the prefix take the other one's topics too: ACLs (--resource-pattern-type prefixed), scripts that delete, and the reset tool of older Kafka versions (KAFKA-14922).",
			Fix:   "Choose ids of which none begins with another one and '-': my-app-v1 and my-app-v2.",
			Bad:   `orders  and  orders-eu`, Good: `orders-us  and  orders-eu`},
		{ID: "C7", Name: "derived-name-clash", Severity: Error,
			Title: "a name is made twice, once by hand and once from another name",
			Why: "Suppressed.withName(\"x\") makes the store x-store, Materialized.as(\"x\") may make the topic x-repartition, StreamJoined.as(\"x\") x-this-join-store. Somebody who writes these names out collides with them: " +
				"the topology does not build, or two operators share what neither means to share.",
			Fix:  "Rename one: do not end names of your own with -store, -repartition, -changelog, -subscription-store or -topic.",
			Bad:  "suppress(Suppressed.untilWindowCloses(unbounded()).withName(\"late\"))   // store late-store\ncount(Materialized.as(\"late-store\"))",
			Good: "suppress(Suppressed.untilWindowCloses(unbounded()).withName(\"late\"))\ncount(Materialized.as(\"late-total\"))"},
		{ID: "C9", Name: "case-only", Severity: Warning,
			Title: "two names differ only in case",
			Why:   "Kafka tells Orders from orders; the file systems of macOS and Windows do not. On such a disk both stores share one directory, and the second cannot be opened. People mistake them everywhere.",
			Fix:   "Rename one store, or one application. Lower case throughout avoids it.",
			Bad:   `Materialized.as("Orders")  and  Materialized.as("orders")`, Good: `Materialized.as("orders-open")  and  Materialized.as("orders-all")`},
		{ID: "C10", Name: "reserved-on-disk", Severity: Error,
			Title: "the store's name is reserved in a task's directory",
			Why: "A task's directory holds rocksdb/ (the key-value stores), .checkpoint, .lock and <store>.position. A window or session store called rocksdb lies where all key-value stores lie; a store called .checkpoint is refused; " +
				"names that end with .position or .lock, or begin with .checkpoint, are taken for those files.",
			Fix: "Choose another name with Materialized.as.",
			Bad: `count(Materialized.as("rocksdb"))`, Good: `count(Materialized.as("clicks-per-user"))`},
		{ID: "C11", Name: "looks-generated", Severity: Warning,
			Title: "a name written by hand looks like a generated one",
			Why:   "Kafka Streams makes names of an operator and a number that it counts. A hand-written one stays only until the counter gets there: then two things have the name, or a rename goes unseen since everyone takes the name for generated.",
			Fix:   "Choose a name that says what is in the store.",
			Bad:   `Materialized.as("KSTREAM-AGGREGATE-STATE-STORE-0000000003")`, Good: `Materialized.as("clicks-per-user")`},
		{ID: "C12", Name: "kind-changed", Severity: Error, Needs: needsState,
			Title: "a store keeps its name but changes its kind",
			Why: "A window store's rows are not a key-value store's, on disk and in the changelog. The old changelog also keeps its cleanup.policy: compact,delete drops rows of a key-value store for good, compact keeps expired windows for ever. " +
				"Kafka Streams compares neither.",
			Fix: "Give the new kind a new name with Materialized.as, and let the old changelog go when nothing reads it any more.",
			Bad: `.windowedBy(hourly).count(Materialized.as("totals"))      // was: .count(Materialized.as("totals"))`, Good: `.windowedBy(hourly).count(Materialized.as("totals-hourly"))`},
	}
}
