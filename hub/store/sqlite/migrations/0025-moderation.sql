-- Agents that the operator took off the registry for a while, the newest last; what they had is kept.
CREATE TABLE archived (
  n      INTEGER PRIMARY KEY AUTOINCREMENT,
  aid    TEXT NOT NULL UNIQUE,
  at_ms  INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;

-- Agents that the operator vouches for, and whose mail reaches them: `senders` is a JSON list of AIDs, null for anybody's.
CREATE TABLE official (
  aid      TEXT PRIMARY KEY,
  place    INTEGER NOT NULL,
  badge    TEXT NOT NULL,
  added_ms INTEGER NOT NULL,
  senders  TEXT,
  visitors INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX official_place ON official (place, aid);

-- What was ordered through the page of the operator, the newest last.
CREATE TABLE operator_act (
  n       INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms   INTEGER NOT NULL,
  who     TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
