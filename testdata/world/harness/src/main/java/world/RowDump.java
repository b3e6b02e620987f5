package world;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/**
 * Every row of every RocksDB below a directory, through the rocksdbjni that Kafka Streams itself loads. The output has a
 * line {@code database TAB family} for each column family, then its rows {@code database TAB family TAB key TAB value} in
 * key order, keys and values in hex. {@code database TAB ! TAB message} says that it could not be opened.
 */
final class RowDump {
  private static final HexFormat HEX = HexFormat.of();

  private final PrintWriter out;
  private final Path infoLogs;
  private int rows;

  private RowDump(PrintWriter out, Path infoLogs) {
    this.out = out;
    this.infoLogs = infoLogs;
  }

  static Map<String, Object> run(Path root, Path output) throws Exception {
    RocksDB.loadLibrary();
    List<Path> databases;
    try (Stream<Path> walk = Files.walk(root)) {
      databases =
          walk.filter(path -> path.getFileName().toString().equals("CURRENT"))
              .map(Path::getParent)
              .sorted()
              .collect(Collectors.toList());
    }
    // A read-only open writes an info log; not into the directory that is looked at.
    Path infoLogs = Files.createTempDirectory("rocksdb-log");
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(output, StandardCharsets.UTF_8))) {
      RowDump dump = new RowDump(out, infoLogs);
      for (Path database : databases) {
        dump.database(root.relativize(database).toString(), database.toString());
      }
      return Map.of("databases", databases.size(), "rows", dump.rows);
    } finally {
      Handoff.delete(infoLogs);
    }
  }

  private void database(String name, String path) throws IOException {
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (Options options = new Options();
        DBOptions dbOptions = new DBOptions().setDbLogDir(infoLogs.toString())) {
      List<ColumnFamilyDescriptor> families =
          RocksDB.listColumnFamilies(options, path).stream()
              .map(ColumnFamilyDescriptor::new)
              .collect(Collectors.toList());
      try (RocksDB db = RocksDB.openReadOnly(dbOptions, path, families, handles)) {
        Map<String, ColumnFamilyHandle> byName = new TreeMap<>();
        for (int i = 0; i < handles.size(); i++) {
          byName.put(new String(families.get(i).getName(), StandardCharsets.UTF_8), handles.get(i));
        }
        for (Map.Entry<String, ColumnFamilyHandle> family : byName.entrySet()) {
          family(db, name + "\t" + family.getKey(), family.getValue());
        }
        handles.forEach(ColumnFamilyHandle::close);
      }
    } catch (RocksDBException e) {
      out.println(name + "\t!\t" + e.getMessage().replace('\n', ' '));
    }
  }

  private void family(RocksDB db, String prefix, ColumnFamilyHandle handle) throws RocksDBException {
    out.println(prefix);
    try (RocksIterator it = db.newIterator(handle)) {
      for (it.seekToFirst(); it.isValid(); it.next()) {
        out.println(prefix + "\t" + HEX.formatHex(it.key()) + "\t" + HEX.formatHex(it.value()));
        rows++;
      }
      it.status();
    }
  }
}
