package world;

import java.util.Iterator;
import java.util.Map;

/** Writes maps, iterables, strings, numbers and booleans as JSON. */
final class Json {
  private Json() {}

  static String write(Object value) {
    StringBuilder out = new StringBuilder();
    write(out, value);
    return out.toString();
  }

  private static void write(StringBuilder out, Object value) {
    if (value == null || value instanceof Number || value instanceof Boolean) {
      out.append(value);
    } else if (value instanceof Map) {
      out.append('{');
      for (Iterator<? extends Map.Entry<?, ?>> it = ((Map<?, ?>) value).entrySet().iterator(); it.hasNext(); ) {
        Map.Entry<?, ?> entry = it.next();
        quote(out, String.valueOf(entry.getKey()));
        out.append(':');
        write(out, entry.getValue());
        if (it.hasNext()) {
          out.append(',');
        }
      }
      out.append('}');
    } else if (value instanceof Iterable) {
      out.append('[');
      for (Iterator<?> it = ((Iterable<?>) value).iterator(); it.hasNext(); ) {
        write(out, it.next());
        if (it.hasNext()) {
          out.append(',');
        }
      }
      out.append(']');
    } else {
      quote(out, value.toString());
    }
  }

  private static void quote(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
