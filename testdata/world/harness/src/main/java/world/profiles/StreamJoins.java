package world.profiles;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.ValueJoiner;

/** Joins of two streams: window stores that keep duplicates, and the list stores of left and outer joins. */
final class StreamJoins extends Profile {
  @Override
  List<Input> ownInputs() {
    return List.of(Input.of("left", Kind.SPARSE, 2), Input.of("right", Kind.SPARSE, 2));
  }

  @Override
  public Topology topology(String app, Properties config) {
    StreamsBuilder builder = builder(app, config);
    KStream<String, String> left = builder.stream(app + "-left", Consumed.with(STRING, STRING));
    KStream<String, String> right = builder.stream(app + "-right", Consumed.with(STRING, STRING));
    JoinWindows windows = JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMinutes(2), Duration.ofMinutes(30));
    StreamJoined<String, String, String> plain = StreamJoined.with(STRING, STRING, STRING);
    ValueJoiner<String, String, String> joiner = (x, y) -> x + "+" + y;
    Produced<String, String> out = Produced.with(STRING, STRING);

    left.join(right, joiner, windows, plain).to(app + "-out", out);
    left.leftJoin(right, joiner, windows, plain.withStoreName(named("lj")).withName(named("ljoin"))).to(app + "-out", out);
    left.outerJoin(right, joiner, windows, plain.withStoreName(named("oj")).withName(named("ojoin"))).to(app + "-out", out);
    left.outerJoin(right, joiner, windows, plain).to(app + "-out", out);
    return builder.build(config);
  }
}
