-- Agents with open mail that peers told of, in the order in which they came, and how far each peer was read.
CREATE TABLE open_peer_agent (
  n       INTEGER PRIMARY KEY AUTOINCREMENT,
  hub     TEXT NOT NULL,
  aid     TEXT NOT NULL,
  name    TEXT NOT NULL,
  caps    TEXT NOT NULL,
  summary TEXT NOT NULL,
  kel     BLOB NOT NULL,
  card    TEXT NOT NULL,
  UNIQUE (aid, hub)
) STRICT;
CREATE INDEX open_peer_agent_of ON open_peer_agent (hub);
CREATE TABLE open_peer_read (
  hub     TEXT PRIMARY KEY,
  fed_seq INTEGER NOT NULL,
  agents  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
