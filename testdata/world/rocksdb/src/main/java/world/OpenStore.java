package world;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

/** Opens a store for reading and writing, as Kafka Streams does, and prints "family rows" for each column family. */
final class OpenStore {
  private OpenStore() {}

  public static void main(String[] args) throws Exception {
    RocksDB.loadLibrary();
    List<ColumnFamilyDescriptor> families = new ArrayList<>();
    try (Options options = new Options()) {
      for (byte[] name : RocksDB.listColumnFamilies(options, args[0])) {
        families.add(new ColumnFamilyDescriptor(name));
      }
    }
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions options = new DBOptions();
        RocksDB db = RocksDB.open(options, args[0], families, handles)) {
      for (ColumnFamilyHandle handle : handles) {
        long rows = 0;
        try (RocksIterator it = db.newIterator(handle)) {
          for (it.seekToFirst(); it.isValid(); it.next()) {
            rows++;
          }
          it.status();
        }
        System.out.println(new String(handle.getName(), StandardCharsets.UTF_8) + " " + rows);
        handle.close();
      }
    }
  }
}
