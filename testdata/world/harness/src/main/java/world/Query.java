package world;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.errors.InvalidStateStorePartitionException;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.query.MultiVersionedKeyQuery;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.StateQueryRequest;
import org.apache.kafka.streams.query.StateQueryResult;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreType;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.ReadOnlySessionStore;
import org.apache.kafka.streams.state.ReadOnlyWindowStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.VersionedRecordIterator;

/** Everything that a store answers to interactive queries, as sorted lines {@code partition key = value}. */
final class Query {
  // The most specific type first: a store answers to several. The headers types exist from 4.3 on.
  private static final List<String> TYPES =
      List.of(
          "timestampedKeyValueStoreWithHeaders",
          "timestampedWindowStoreWithHeaders",
          "sessionStoreWithHeaders",
          "timestampedKeyValueStore",
          "timestampedWindowStore",
          "keyValueStore",
          "windowStore",
          "sessionStore");
  private static final int MAX_PARTITIONS = 8;
  private static final int KEYS = 150;

  private final KafkaStreams streams;
  private final String store;
  private String reason = "";

  Query(KafkaStreams streams, String store) {
    this.streams = streams;
    this.store = store;
  }

  /** The type that answered and its rows, or "unreadable" and why. */
  Map<String, Object> run() {
    Map<String, Object> answer = new LinkedHashMap<>();
    for (String type : TYPES) {
      List<String> rows = readAs(type);
      if (rows != null && !rows.isEmpty()) {
        answer.put("type", type);
        answer.put("rows", rows);
        return answer;
      }
    }
    List<String> rows = readVersioned();
    answer.put("type", rows == null ? "unreadable" : "versioned");
    answer.put("rows", rows == null ? List.of() : rows);
    if (rows == null) {
      answer.put("reason", reason);
    }
    return answer;
  }

  private List<String> readAs(String typeName) {
    QueryableStoreType<?> type;
    try {
      type = (QueryableStoreType<?>) QueryableStoreTypes.class.getMethod(typeName).invoke(null);
    } catch (ReflectiveOperationException e) {
      return null; // an older version
    }
    List<String> rows = new ArrayList<>();
    try {
      for (int partition = 0; partition < MAX_PARTITIONS; partition++) {
        readPartition(type, partition, rows);
      }
    } catch (RuntimeException e) {
      reason = typeName + ": " + e; // a store of another type says so at the first read
      return null;
    }
    Collections.sort(rows);
    return rows;
  }

  private void readPartition(QueryableStoreType<?> type, int partition, List<String> rows) {
    try {
      Object view = streams.store(StoreQueryParameters.fromNameAndType(store, type).withPartition(partition));
      try (KeyValueIterator<?, ?> all = iterate(view)) {
        while (all.hasNext()) {
          KeyValue<?, ?> row = all.next();
          rows.add(partition + " " + text(row.key) + " = " + row.value);
        }
      }
    } catch (InvalidStateStorePartitionException e) {
      // The store has fewer partitions.
    }
  }

  private static KeyValueIterator<?, ?> iterate(Object view) {
    if (view instanceof ReadOnlyKeyValueStore) {
      return ((ReadOnlyKeyValueStore<?, ?>) view).all();
    }
    if (view instanceof ReadOnlyWindowStore) {
      return ((ReadOnlyWindowStore<?, ?>) view).all();
    }
    return ((ReadOnlySessionStore<?, ?>) view).fetch(null, null);
  }

  private static String text(Object key) {
    if (key instanceof Windowed) {
      Windowed<?> windowed = (Windowed<?>) key;
      return windowed.key() + "@" + windowed.window().start() + ".." + windowed.window().end();
    }
    return String.valueOf(key);
  }

  // Versioned stores cannot be iterated: every key of Input is asked for.
  private List<String> readVersioned() {
    List<String> rows = new ArrayList<>();
    boolean answered = false;
    for (int k = 0; k < KEYS; k++) {
      String key = String.format("k%03d", k);
      MultiVersionedKeyQuery<String, String> query = MultiVersionedKeyQuery.withKey(key);
      StateQueryResult<VersionedRecordIterator<String>> results;
      try {
        results = streams.query(StateQueryRequest.inStore(store).withQuery(query.withAscendingTimestamps()));
      } catch (RuntimeException e) {
        reason = e.toString();
        return null;
      }
      for (Map.Entry<Integer, QueryResult<VersionedRecordIterator<String>>> result :
          results.getPartitionResults().entrySet()) {
        if (result.getValue().isFailure()) {
          reason = result.getValue().getFailureMessage();
          continue;
        }
        answered = true;
        try (VersionedRecordIterator<String> versions = result.getValue().getResult()) {
          while (versions.hasNext()) {
            VersionedRecord<String> version = versions.next();
            String until = version.validTo().map(String::valueOf).orElse("");
            String span = version.timestamp() + ".." + until;
            rows.add(result.getKey() + " " + key + "@" + span + " = " + version.value());
          }
        }
      }
    }
    Collections.sort(rows);
    return answered ? rows : null;
  }
}
