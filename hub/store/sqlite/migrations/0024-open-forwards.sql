-- Open mail that peers handed on, so that none is taken twice, and how many of each are remembered. A peer tells of its
-- agents again and again, from the start: `pass` is the time at which it told of one last, `seq` the number of the card.
CREATE TABLE open_forward (
  n      INTEGER PRIMARY KEY AUTOINCREMENT,
  origin TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE,
  at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX open_forward_of ON open_forward (origin, n);
CREATE INDEX open_forward_at ON open_forward (at_ms);
CREATE TABLE open_forwards (
  origin TEXT PRIMARY KEY,
  held   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE open_peer_agent ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE open_peer_agent ADD COLUMN pass INTEGER NOT NULL DEFAULT 0;
ALTER TABLE open_peer_read ADD COLUMN pass INTEGER NOT NULL DEFAULT 0;
