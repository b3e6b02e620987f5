package lint

// generatedRules are C8 and the traps around it.
func generatedRules() []Rule {
	return []Rule{
		{ID: "C8", Name: "generated-name", Severity: Error,
			Title: "a store, its changelog or a repartition topic has a generated name",
			Why: "The number comes from a counter over the whole topology: one operator more or less, anywhere before it, and the store has another name. " +
				"The new one starts empty, the old changelog stays behind with the state, and records in the old repartition topic are never read. " +
				"Kafka 4.1 refuses to start with ensure.explicit.internal.resource.naming=true (KIP-1111).",
			Fix: "Name it with the call in the finding: Materialized.as, Grouped.as, Repartitioned.as, Joined.as, StreamJoined.as (stores) and withName (repartition topics), Suppressed.withName, TableJoined.as. " +
				"In a running application naming is itself a rename: carry the state over or rebuild it, and name everything in one release.",
			Bad:  `clicks.groupBy(byUser).count();`,
			Good: `clicks.groupBy(byUser, Grouped.as("clicks-by-user")).count(Materialized.as("clicks-per-user"));`},
		{ID: "N1", Name: "named-processor-only", Severity: Warning,
			Title: "the processor has a name, but its store does not",
			Why:   "Named.as names the node in the topology, which carries no state. The store and its changelog keep a generated name, although the code looks as if it were pinned.",
			Fix:   "Add Materialized.as beside Named.as.",
			Bad:   `clicks.groupByKey().count(Named.as("count-clicks"));`,
			Good:  `clicks.groupByKey().count(Named.as("count-clicks"), Materialized.as("clicks-per-user"));`},
		{ID: "N2", Name: "named-store-only", Severity: Warning,
			Title: "the store has a name, but the repartition topic in front of it does not",
			Why: "A store's name names the repartition topic of a count, reduce or aggregate only. toTable takes that topic's name from Named.as, a stream-stream join from StreamJoined.withName. " +
				"When the number shifts, the records that wait in the old topic are never read.",
			Fix: "toTable(Named.as(\"x\"), Materialized.as(…)) gives x-repartition; StreamJoined.withName(\"x\") x-left-repartition and x-right-repartition; or repartition(Repartitioned.as(\"x\")) before it.",
			Bad: `prices.selectKey(byId).toTable(Materialized.as("prices"));`, Good: `prices.selectKey(byId).toTable(Named.as("prices-by-id"), Materialized.as("prices"));`},
		{ID: "N3", Name: "named-join-only", Severity: Warning,
			Title: "the join has a name, but its stores do not",
			Why:   "StreamJoined.withName names the join's processors and repartition topics. Its two or three window stores keep generated names unless withStoreName (or StreamJoined.as) is called.",
			Fix:   "StreamJoined.as(\"x\") or withStoreName(\"x\") besides withName(\"x\").",
			Bad:   `left.join(right, joiner, window, StreamJoined.with(k, l, r).withName("pay"));`,
			Good:  `left.join(right, joiner, window, StreamJoined.with(k, l, r).withName("pay").withStoreName("pay"));`},
		{ID: "N4", Name: "naming-shifts", Severity: Info,
			Title: "naming one thing renumbers the generated names after it",
			Why: "A store that is named takes no number from the counter (a suppression saves two, a repartition one), so every later generated name goes down. " +
				"Who names one store and leaves the others loses the state of the others.",
			Fix: "Name everything in the fix list in the same release.",
			Bad: `count(Materialized.as("a"))   …   count()                            // the second store was …0000000009, becomes …0000000008`, Good: `count(Materialized.as("a"))   …   count(Materialized.as("b"))`},
	}
}

// namingRules are about words.
func namingRules() []Rule {
	return []Rule{
		{ID: "W1", Name: "weak-name", Severity: Warning,
			Title: "the name says nothing",
			Why:   "A store's name is an API: it is in topic names, metrics, queries, ACLs and runbooks, and a rename costs its state. store1 or temp tells nobody in an incident what is in it.",
			Fix:   "Say what the rows are and by what they are keyed: account-payment-total. Which words are weak is set with weak-names in .sstool-lint.yaml.",
			Bad:   `Materialized.as("store1")`, Good: `Materialized.as("account-payment-total")`},
		{ID: "W2", Name: "naming-convention", Severity: Warning, Needs: needsConfig,
			Title: "the name does not follow the convention",
			Why:   "The project agreed on names: ACLs, dashboards and owners may be found by them.",
			Fix:   "Rename before the first deploy, or change naming in .sstool-lint.yaml.",
			Bad:   "naming: {prefixes: [account., inventory.]}      Materialized.as(\"payments\")", Good: `Materialized.as("account.payments")`},
	}
}
