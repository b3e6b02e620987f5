package migrate

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sstool/internal/worldtest"
)

var className = regexp.MustCompile(`public final class (\w+)`)

// The Java of docs/ttl.md compiles, without a warning, into a topology that
// Kafka Streams takes.
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
		sources[m[1]+".java"] = code
	}
	if len(sources) != 3 {
		t.Fatalf("%d patterns, expected 3", len(sources))
	}
	worldtest.Require(t)
	sources["Main.java"] = documentedMain
	out, err := worldtest.RunJava(t.Context(), worldtest.Newest, "Main", sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{"seen", "latest", "touched"} {
		if !strings.Contains(out, "stores: ["+store+"]") {
			t.Errorf("no store %s in the topology:\n%s", store, out)
		}
	}
}

// documentedMain uses the patterns as their comments say.
const documentedMain = `
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;

public class Main {
    public static void main(String[] args) {
        StreamsBuilder builder = new StreamsBuilder();
        Consumed<String, String> strings = Consumed.with(Serdes.String(), Serdes.String());
        KStream<String, String> stream = builder.stream("in", strings);
        stream.process(new OncePerDay());
        stream.process(new Expiring());
        TableExpiry.add(builder.table("carts", strings), "carts");
        System.out.println(builder.build().describe());
    }
}
`
