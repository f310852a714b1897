-- What peers are told of agents: one row an agent that they were ever told of, under the number of the last word.
CREATE TABLE told_card (
  fed_seq   INTEGER PRIMARY KEY AUTOINCREMENT,
  aid       TEXT NOT NULL UNIQUE,
  withdrawn INTEGER NOT NULL
) STRICT;
INSERT INTO told_card (aid, withdrawn)
  SELECT aid, 0 FROM agent
  WHERE registered = 1 AND visibility <> 'hub-local' AND keys IS NOT NULL ORDER BY number;
-- Agents that peers told of as theirs.
CREATE TABLE peer_card (
  hub TEXT NOT NULL,
  aid TEXT NOT NULL,
  PRIMARY KEY (hub, aid)
) STRICT, WITHOUT ROWID;
CREATE INDEX peer_card_of ON peer_card (aid);
-- How far the cards of each peer were read, and how many are kept.
CREATE TABLE peer_cards_read (
  hub     TEXT PRIMARY KEY,
  fed_seq INTEGER NOT NULL,
  cards   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
