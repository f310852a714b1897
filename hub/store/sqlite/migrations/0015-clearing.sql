-- What this hub and each of its peers last said of what one owes the other. Both agreed last about the transfers up to
-- `agreed_seq`. `accepted` is a difference with which the operator lets payments cross again.
CREATE TABLE ledger_clearing (
  peer       TEXT PRIMARY KEY,
  agreed_seq INTEGER NOT NULL DEFAULT 0,
  agreed_ms  INTEGER,
  -- The last look, and how many in a row ended with figures that differ.
  at_ms      INTEGER,
  due        INTEGER NOT NULL DEFAULT 0,
  owed       INTEGER NOT NULL DEFAULT 0,
  rounds     INTEGER NOT NULL DEFAULT 0,
  accepted   INTEGER NOT NULL DEFAULT 0,
  -- Since when no new payment crosses.
  stopped_ms INTEGER,
  -- The newest epoch of the peer that was compared: what it says that it owes all of its peers, and what it owes this one.
  day        INTEGER,
  published  INTEGER,
  claim      INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_cleared ON ledger_transfer (reference) WHERE reason = 'cleared';
CREATE INDEX ledger_cleared_later ON ledger_transfer (reason) WHERE reason = 'cleared';
