package world.profiles;

import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;

/** The smallest application: a table of four partitions in one timestamped key-value store. */
final class FourPartitions extends Profile {
  @Override
  List<Input> ownInputs() {
    return List.of(Input.of("tbl", Kind.TABLE, 4));
  }

  @Override
  public Topology topology(String app, Properties config) {
    StreamsBuilder builder = builder(app, config);
    builder.table(app + "-tbl", Consumed.with(STRING, STRING), Materialized.as(named("tbl-store")));
    return builder.build(config);
  }
}
