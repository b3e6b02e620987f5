package world.profiles;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.internals.NamedInternal;
import org.apache.kafka.streams.processor.StateStore;

/** The names that a topology gives, or none: the same code with both makes every name that Kafka Streams generates. */
final class Names {
  final boolean given;

  Names(boolean given) {
    this.given = given;
  }

  /** Null where there is no name, as the DSL takes it. */
  String of(String name) {
    return given ? name : null;
  }

  Named as(String name) {
    return given ? Named.as(name) : NamedInternal.empty();
  }

  Consumed<String, String> consumed() {
    return Consumed.with(Serdes.String(), Serdes.String());
  }

  Produced<String, String> produced() {
    return Produced.with(Serdes.String(), Serdes.String());
  }

  Grouped<String, String> grouped(String name) {
    return Grouped.with(of(name), Serdes.String(), Serdes.String());
  }

  Joined<String, String, String> joined(String name) {
    return Joined.with(Serdes.String(), Serdes.String(), Serdes.String(), of(name));
  }

  TableJoined<String, String> tableJoined(String name) {
    return given ? TableJoined.as(name) : TableJoined.with(null, null);
  }

  <K> Suppressed<K> suppressed(Suppressed<K> how, String name) {
    return given ? how.withName(name) : how;
  }

  StreamJoined<String, String, String> streamJoined(String name, boolean stores) {
    StreamJoined<String, String, String> joined =
        StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String());
    if (given) {
      joined = joined.withName(name);
    }
    return given && stores ? joined.withStoreName(name) : joined;
  }

  <S extends StateStore> Materialized<String, String, S> store(String name) {
    Materialized<String, String, S> materialized =
        given ? Materialized.as(name) : Materialized.with(Serdes.String(), Serdes.String());
    return materialized.withKeySerde(Serdes.String()).withValueSerde(Serdes.String());
  }

  <S extends StateStore> Materialized<String, Long, S> counts(String name) {
    Materialized<String, Long, S> materialized =
        given ? Materialized.as(name) : Materialized.with(Serdes.String(), Serdes.Long());
    return materialized.withKeySerde(Serdes.String()).withValueSerde(Serdes.Long());
  }
}
