package world;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The options of one command: {@code --name value}, and {@code --set key=value} for Kafka Streams settings. */
final class Args {
  /** Settings for the application, over the harness's own. */
  final Map<String, String> settings = new LinkedHashMap<>();

  private final Map<String, String> values = new HashMap<>();

  Args(List<String> words) {
    for (int i = 0; i < words.size(); i += 2) {
      String name = words.get(i);
      if (!name.startsWith("--") || i + 1 == words.size()) {
        throw new IllegalArgumentException("expected --name value, got " + name);
      }
      String value = words.get(i + 1);
      if (name.equals("--set")) {
        String[] pair = value.split("=", 2);
        settings.put(pair[0], pair[1]);
      } else {
        values.put(name.substring(2), value);
      }
    }
  }

  String get(String name, String otherwise) {
    return values.getOrDefault(name, otherwise);
  }

  String get(String name) {
    String value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("--" + name + " is missing");
    }
    return value;
  }

  boolean has(String name) {
    return values.containsKey(name);
  }

  long number(String name, long otherwise) {
    return values.containsKey(name) ? Long.parseLong(values.get(name)) : otherwise;
  }

  Path path(String name) {
    return Path.of(get(name));
  }
}
