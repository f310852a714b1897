-- Signed cards of agents with open mail, as text; `card` is null where its agent left, and `seq` is kept, since no older
-- one is ever taken again.
CREATE TABLE open_card (
  fed_seq INTEGER PRIMARY KEY AUTOINCREMENT,
  aid     TEXT NOT NULL UNIQUE,
  seq     INTEGER NOT NULL,
  kel_seq INTEGER NOT NULL,
  card    TEXT
) STRICT;
