import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;

/** Apache Arrow's Flight SQL JDBC driver, as an application uses it: java Jdbc.java PLAIN_HOST TLS_HOST CERTIFICATE */
public class Jdbc {
  static String plain, tls;
  static int failed;

  interface Case {
    void run() throws Exception;
  }

  static void check(String name, Case body) {
    try {
      body.run();
      System.out.println("ok   " + name);
    } catch (Throwable e) {
      failed++;
      System.out.println("FAIL " + name);
      e.printStackTrace(System.out);
    }
  }

  static void equal(Object got, Object want) {
    if (!Objects.equals(String.valueOf(got), String.valueOf(want))) throw new AssertionError("got " + got + ", want " + want);
  }

  static void refused(String word, Case body) throws Exception {
    try {
      body.run();
    } catch (SQLException | RuntimeException e) {
      if (!String.valueOf(e.getMessage()).contains(word)) throw e;
      return;
    }
    throw new AssertionError("nothing was refused with " + word);
  }

  /** The rows, cells divided by | and rows by a comma. */
  static String rows(ResultSet r) throws SQLException {
    List<String> out = new ArrayList<>();
    while (r.next()) {
      List<String> cells = new ArrayList<>();
      for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) cells.add(String.valueOf(r.getString(i)));
      out.add(String.join("|", cells));
    }
    r.close();
    return String.join(",", out);
  }

  static String query(Connection c, String sql) throws SQLException {
    try (Statement s = c.createStatement()) {
      return rows(s.executeQuery(sql));
    }
  }

  static int update(Connection c, String sql) throws SQLException {
    try (Statement s = c.createStatement()) {
      return s.executeUpdate(sql);
    }
  }

  static Connection connect() throws SQLException {
    return DriverManager.getConnection(tls, "ann", "secret");
  }

  static void logins() throws Exception {
    try (Connection c = connect()) {
      equal(query(c, "SELECT 1"), "1");
    }
    Properties key = new Properties();
    key.put("token", "k1");
    try (Connection c = DriverManager.getConnection(plain, key)) {
      equal(query(c, "SELECT 1"), "1");
    }
    refused("UNAUTHENTICATED", () -> DriverManager.getConnection(tls, "ann", "wrong"));
  }

  static void ddlAndTypes(Connection c) throws Exception {
    equal(update(c, "CREATE TABLE jdbc_orders (id INTEGER, amount DECIMAL(10,2), sold_at TIMESTAMPTZ, tags VARCHAR[], "
        + "place STRUCT(city VARCHAR, zip INTEGER), note VARCHAR)"), 0);
    equal(update(c, "INSERT INTO jdbc_orders VALUES (1, 9.50, '2026-01-02 03:04:05.678901+00', ['a', NULL], {'city': 'Oslo', 'zip': 150}, NULL)"), 1);
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM jdbc_orders")) {
      r.next();
      equal(r.getInt(1), 1);
      equal(r.getBigDecimal(2), "9.50");
      equal(r.getObject(3, OffsetDateTime.class).toInstant(), "2026-01-02T03:04:05.678901Z");
      equal(Arrays.toString((Object[]) r.getArray(4).getArray()), "[a, null]");
      equal(((Map<?, ?>) r.getObject(5)).get("zip"), 150);
      equal(r.getString(6), null);
      equal(r.wasNull(), true);
      refused("not implemented", () -> r.getObject(3)); // the driver's: the class has to be named
    }
    equal(query(c, "SELECT DATE '2026-01-02', TIME '12:00:01'::VARCHAR, TIMESTAMP '2026-01-02 03:04:05', MAP {'k': 1}, 'x'::BLOB, true, 1.5::DOUBLE"),
        "2026-01-02|12:00:01|2026-01-02 03:04:05.0|{\"k\":1}|x|true|1.5");
  }

  static void parameters(Connection c) throws Exception {
    Timestamp when = Timestamp.from(Instant.parse("2026-01-02T03:04:05.678Z"));
    Calendar utc = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
    try (PreparedStatement p = c.prepareStatement("INSERT INTO jdbc_orders (id, amount, sold_at, note) VALUES (?, ?, ?, ?)")) {
      for (int i = 10; i < 20; i++) {
        p.setInt(1, i);
        p.setBigDecimal(2, new BigDecimal("1.25"));
        p.setTimestamp(3, when, utc);
        if (i % 2 == 0) p.setString(4, "n" + i);
        else p.setNull(4, Types.VARCHAR);
        p.addBatch();
      }
      equal(Arrays.toString(p.executeBatch()), "[10]");
    }
    try (PreparedStatement p = c.prepareStatement("SELECT id FROM jdbc_orders WHERE amount < ? AND sold_at = ? AND note LIKE ? ORDER BY id")) {
      p.setBigDecimal(1, new BigDecimal("5").setScale(2)); // the scale must be the column's
      p.setTimestamp(2, when, utc);
      p.setString(3, "n1%");
      equal(rows(p.executeQuery()), "10,12,14,16,18");
      p.setString(3, "n12");
      equal(rows(p.executeQuery()), "12");
      equal(p.getParameterMetaData().getParameterCount(), 3);
      equal(p.getMetaData().getColumnName(1), "id");
    }
    try (PreparedStatement p = c.prepareStatement("SELECT ?::TIMESTAMP, ?::TIME = TIME '12:00:01', ?::DATE, ?::BOOLEAN, ?::BIGINT, ?::DOUBLE, ?")) {
      p.setTimestamp(1, Timestamp.valueOf("2026-01-02 03:04:05.678"));
      p.setTime(2, Time.valueOf("12:00:01"));
      p.setDate(3, java.sql.Date.valueOf("2026-01-02"));
      p.setBoolean(4, true);
      p.setLong(5, 5);
      p.setDouble(6, 0.5);
      p.setString(7, "of no known type");
      equal(rows(p.executeQuery()), "2026-01-02 03:04:05.678|true|2026-01-02|true|5|0.5|of no known type");
    }
  }

  static void transactions(Connection c) throws Exception {
    try (Statement s = c.createStatement()) {
      s.execute("BEGIN");
      s.executeUpdate("DELETE FROM jdbc_orders");
      equal(query(c, "SELECT count(*) FROM jdbc_orders"), "0");
      s.execute("ROLLBACK");
      equal(query(c, "SELECT count(*) FROM jdbc_orders"), "11");
    }
    c.setAutoCommit(false); // the driver takes it, and sends nothing
    update(c, "DELETE FROM jdbc_orders WHERE id = 19");
    c.rollback();
    c.setAutoCommit(true);
    equal(query(c, "SELECT count(*) FROM jdbc_orders"), "10");
  }

  static void metadata(Connection c) throws Exception {
    DatabaseMetaData m = c.getMetaData();
    equal(m.getDatabaseProductName(), "vega-flight");
    equal(m.getIdentifierQuoteString(), "\"");
    equal(rows(m.getCatalogs()), "lake,vega");
    List<String> found = new ArrayList<>();
    for (ResultSet r = m.getTables("lake", "main", "jdbc\\_%", null); r.next(); ) found.add(r.getString("TABLE_NAME") + " " + r.getString("TABLE_TYPE"));
    for (ResultSet r = m.getColumns("lake", "main", "jdbc\\_orders", "%"); r.next(); ) found.add(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"));
    equal(found, "[jdbc_orders TABLE, id INTEGER, amount DECIMAL(10,2), sold_at TIMESTAMP WITH TIME ZONE, tags VARCHAR[], "
        + "place STRUCT(city VARCHAR, zip INTEGER), note VARCHAR]");
  }

  static void errors(Connection c) throws Exception {
    refused("OBJECT_NOT_FOUND: Catalog Error: Table with name nobody_knows", () -> query(c, "SELECT * FROM nobody_knows"));
    refused("SYNTAX_ERROR", () -> query(c, "SELEC 1"));
    refused("while preparing SQL", () -> c.prepareStatement("SELECT * FROM nobody_knows WHERE i = ?").close());
  }

  static void cancel(Connection c) throws Exception {
    try (Statement s = c.createStatement()) {
      Thread canceller = new Thread(() -> {
        try {
          while (!query(other, "SELECT count(*) FROM jdbc_orders").isEmpty() && !over) {
            s.cancel();
          }
        } catch (SQLException e) {
          e.printStackTrace();
        }
      });
      canceller.start();
      try {
        refused("ancel", () -> s.executeQuery("SELECT sum(sqrt(i * j)) FROM range(3000000) a(i), range(3000000) b(j)"));
      } finally {
        over = true;
        canceller.join();
      }
    }
    try (Statement s = c.createStatement()) { // a timeout ends the waiting only: the statement is cancelled by hand
      s.setQueryTimeout(1);
      refused("timed out", () -> s.executeQuery("SELECT sum(sqrt(i * j)) FROM range(3000000) a(i), range(3000000) b(j)"));
      s.cancel();
    }
    equal(query(c, "SELECT 1"), "1");
  }

  static Connection other;
  static volatile boolean over;

  static void views(Connection c) throws Exception {
    equal(query(c, "CREATE MATERIALIZED VIEW jdbc_total AS SELECT count(*) AS n FROM jdbc_orders"), "CREATE MATERIALIZED VIEW");
    try (Statement s = c.createStatement()) {
      equal(s.execute("REFRESH MATERIALIZED VIEW jdbc_total"), true); // a result set, so executeUpdate counts -1
      ResultSet r = s.getResultSet();
      r.next();
      equal(r.getString("mode"), "no_op");
      r.close();
    }
    equal(query(c, "SELECT n FROM jdbc_total"), "10");
  }

  static void subscription(Connection c) throws Exception {
    query(c, "CREATE STREAMING MATERIALIZED VIEW jdbc_live WITH (wait_for_ready = true) AS SELECT id FROM jdbc_orders WHERE id IN (1, 2)");
    String now = query(c, "SELECT id FROM lake.current_snapshot()");
    equal(query(c, "SUBSCRIBE TO jdbc_live WITH (up_to = " + now + ")").replaceAll("\\b" + now + "\\b", "t"),
        "t|null|begin|null,t|1|null|1,t|null|end|null");
    List<String> changes = new ArrayList<>();
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SUBSCRIBE TO jdbc_live")) {
      while (!changes.contains("1 2") && r.next()) {
        if (r.getString("_progress") == null) changes.add(r.getLong("_weight") + " " + r.getInt("id"));
        else if (r.getString("_progress").equals("end")) update(c, "INSERT INTO jdbc_orders (id) VALUES (2)");
      }
      s.cancel();
    }
    equal(changes, "[1 1, 1 2]");
    equal(query(c, "SELECT count(*) FROM jdbc_live"), "2");
  }

  public static void main(String[] args) throws Exception {
    plain = "jdbc:arrow-flight-sql://" + args[0] + "/?useEncryption=false";
    tls = "jdbc:arrow-flight-sql://" + args[1] + "/?useEncryption=true&tlsRootCerts=" + args[2];
    check("logins", Jdbc::logins);
    try (Connection c = connect(); Connection second = connect()) {
      other = second;
      check("ddl and types", () -> ddlAndTypes(c));
      check("parameters", () -> parameters(c));
      check("transactions", () -> transactions(c));
      check("metadata", () -> metadata(c));
      check("errors", () -> errors(c));
      check("views", () -> views(c));
      check("subscription", () -> subscription(c));
      check("cancel", () -> cancel(c));
    } catch (SQLException e) {
      System.out.println("closing: " + e.getMessage()); // of what a cancelled statement left, the driver tells when it closes
    }
    System.exit(failed == 0 ? 0 : 1);
  }
}
