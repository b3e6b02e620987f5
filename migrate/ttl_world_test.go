package migrate

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/worldtest"
)

var className = regexp.MustCompile(`public final class (\w+)`)

// The Java of docs/ttl.md compiles, without a warning, and does in Kafka
// Streams what the page says: the old rows leave the store and its changelog,
// and a null that is only forwarded leaves both as they are.
func TestTTLDocumentedJava(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "ttl.md"))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, part := range strings.Split(string(text), "```java\n")[1:] {
		code, _, ok := strings.Cut(part, "```")
		m := className.FindStringSubmatch(code)
		if !ok || m == nil {
			t.Fatalf("no class in %q", code)
		}
		// Nobody waits ten minutes for the next look.
		code = strings.NewReplacer("Duration.ofSeconds(10)", "Duration.ofSeconds(1)", "Duration.ofMinutes(10)", "Duration.ofSeconds(1)").Replace(code)
		sources[m[1]+".java"] = code
	}
	if len(sources) != 3 {
		t.Fatalf("%d patterns, expected 3", len(sources))
	}
	worldtest.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b := worldtest.StartBroker(t, worldtest.Options{})
	for _, topic := range []string{"in", "once", "forwarded", "carts"} {
		if err := worldtest.CreateTopic(ctx, b.Bootstrap, topic, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	old := now.Add(-31 * 24 * time.Hour)
	for topic, recs := range map[string][]worldtest.Record{
		"in":    {{Key: []byte("old"), Value: []byte("v"), Timestamp: old}, {Key: []byte("young"), Value: []byte("v"), Timestamp: now}, {Key: []byte("young"), Value: []byte("w"), Timestamp: now.Add(1)}},
		"carts": {{Key: []byte("old"), Value: []byte("v"), Timestamp: old}, {Key: []byte("young"), Value: []byte("v"), Timestamp: now}},
	} {
		if err := worldtest.Produce(ctx, b.Bootstrap, topic, recs...); err != nil {
			t.Fatal(err)
		}
	}
	sources["Main.java"] = strings.ReplaceAll(documentedMain, "@bootstrap@", b.Bootstrap)
	out, err := worldtest.RunJava(ctx, worldtest.Newest, "Main", sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{"seen", "latest", "touched", "kept"} {
		if !strings.Contains(out, "stores: ["+store+"]") {
			t.Errorf("no store %s in the topology:\n%s", store, out)
		}
	}
	for topic, want := range map[string]string{
		"once":                   "old=v young=v", // not w: a day has not passed
		"docs-latest-changelog":  "old=v young=v young=w old=null",
		"docs-touched-changelog": "old=- young=- old=null",
		"carts":                  "old=v young=v old=null",
		"forwarded":              "old=null young=null",
		"docs-kept-changelog":    "old=v young=v young=w", // forwarding a null deletes nothing
	} {
		if got := topicText(ctx, t, b.Bootstrap, topic); got != want {
			t.Errorf("%s: %q, want %q", topic, got, want)
		}
	}
}

// topicText is a topic of one partition as key=value, in order; times are -.
// What a punctuator did again before it saw that it was done is there once.
func topicText(ctx context.Context, t *testing.T, bootstrap, topic string) string {
	t.Helper()
	all, err := worldtest.ReadTopic(ctx, bootstrap, topic)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range all[0] {
		value := string(r.Value)
		switch {
		case r.Value == nil:
			value = "null"
		case len(r.Value) == 8:
			value = "-"
		}
		out = append(out, string(r.Key)+"="+value)
	}
	return strings.Join(slices.Compact(out), " ")
}

// documentedMain uses the patterns as their comments say, and beside them a
// processor that only forwards nulls.
const documentedMain = `
import java.nio.file.Files;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

public class Main {
    public static void main(String[] args) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        Consumed<String, String> strings = Consumed.with(Serdes.String(), Serdes.String());
        Produced<String, String> to = Produced.with(Serdes.String(), Serdes.String());
        KStream<String, String> stream = builder.stream("in", strings);
        stream.process(new OncePerDay()).to("once", to);
        stream.process(new Expiring());
        stream.process(new Forwards()).to("forwarded", to);
        TableExpiry.add(builder.table("carts", strings), "carts");
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, "docs");
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "@bootstrap@");
        config.put(StreamsConfig.STATE_DIR_CONFIG, Files.createTempDirectory("docs").toString());
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put("auto.offset.reset", "earliest");
        var topology = builder.build();
        System.out.println(topology.describe());
        try (KafkaStreams streams = new KafkaStreams(topology, config)) {
            streams.start();
            while (streams.state() != KafkaStreams.State.RUNNING) {
                Thread.sleep(100);
            }
            Thread.sleep(8000);
            streams.close(Duration.ofSeconds(20));
        }
    }

    static final class Forwards implements ProcessorSupplier<String, String, String, String> {
        @Override
        public Set<StoreBuilder<?>> stores() {
            return Set.of(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("kept"), Serdes.String(), Serdes.String()));
        }

        @Override
        public Processor<String, String, String, String> get() {
            return new Processor<>() {
                private ProcessorContext<String, String> context;
                private KeyValueStore<String, String> kept;

                @Override
                public void init(ProcessorContext<String, String> context) {
                    this.context = context;
                    kept = context.getStateStore("kept");
                }

                @Override
                public void process(Record<String, String> record) {
                    kept.put(record.key(), record.value());
                    context.forward(record.withValue(null));
                }
            };
        }
    }
}
`
