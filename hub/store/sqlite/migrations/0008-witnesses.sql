-- Who watches the supply chain: those whom the operator named, with their key history as they sent it.
CREATE TABLE witness (
  aid      TEXT PRIMARY KEY,
  url      TEXT,
  kel      BLOB,
  -- The last statement about a record that this chain does not have yet: it went on from here once.
  ahead    BLOB
) STRICT, WITHOUT ROWID;
-- Their statements: the newest of each witness after each epoch. `day` is that of the epoch, -1 before all that are kept.
CREATE TABLE witness_statement (
  witness     TEXT NOT NULL REFERENCES witness (aid),
  day         INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  observed_ms INTEGER NOT NULL,
  statement   BLOB NOT NULL,
  PRIMARY KEY (witness, day)
) STRICT, WITHOUT ROWID;
