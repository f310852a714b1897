-- Credits, double entry: whom the hub owes, what moved, and the chain of what was issued and retired. An AID stands in
-- ledger_account alone. Transfers, entries and records are added and never changed.
CREATE TABLE ledger_account (
  number  INTEGER PRIMARY KEY,
  kind    TEXT NOT NULL CHECK (kind IN ('issue', 'retired', 'agent', 'held', 'peer')),
  -- AID of an agent or a peer, transaction of a hold, nothing of the hub's own two.
  name    TEXT NOT NULL,
  balance INTEGER NOT NULL DEFAULT 0,
  -- Whether it has had its trial credits.
  trial   INTEGER NOT NULL DEFAULT 0,
  UNIQUE (kind, name),
  CHECK (abs(balance) <= 9007199254740991),
  CHECK (CASE kind WHEN 'peer' THEN 1 WHEN 'issue' THEN balance <= 0 ELSE balance >= 0 END)
) STRICT;
INSERT INTO ledger_account (number, kind, name) VALUES (1, 'issue', ''), (2, 'retired', '');

CREATE TABLE ledger_transfer (
  seq         INTEGER PRIMARY KEY,
  -- 36 bytes of a transaction, or the hash of another id.
  id          BLOB NOT NULL UNIQUE,
  reason      TEXT NOT NULL,
  at_ms       INTEGER NOT NULL,
  amount      INTEGER NOT NULL CHECK (amount > 0),
  -- The payment whose hold ended, or that was given back.
  about       BLOB,
  receipt     BLOB,
  reference   TEXT
) STRICT;
CREATE INDEX ledger_refund ON ledger_transfer (about) WHERE reason = 'refund';
CREATE INDEX ledger_trial ON ledger_transfer (at_ms) WHERE reason = 'trial';

CREATE TABLE ledger_entry (
  account  INTEGER NOT NULL REFERENCES ledger_account (number),
  transfer INTEGER NOT NULL REFERENCES ledger_transfer (seq),
  delta    INTEGER NOT NULL CHECK (delta <> 0),
  other    INTEGER NOT NULL REFERENCES ledger_account (number),
  PRIMARY KEY (account, transfer)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_hold (
  account  INTEGER PRIMARY KEY REFERENCES ledger_account (number),
  payer    INTEGER NOT NULL REFERENCES ledger_account (number),
  payee    INTEGER NOT NULL REFERENCES ledger_account (number),
  until_ms INTEGER NOT NULL,
  is_open  INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX ledger_hold_open ON ledger_hold (until_ms) WHERE is_open = 1;
CREATE INDEX ledger_hold_payer ON ledger_hold (payer) WHERE is_open = 1;

CREATE TABLE ledger_totals (
  one           INTEGER PRIMARY KEY CHECK (one = 1),
  agents        INTEGER NOT NULL CHECK (agents BETWEEN 0 AND 9007199254740991),
  holds         INTEGER NOT NULL CHECK (holds BETWEEN 0 AND 9007199254740991),
  issued        INTEGER NOT NULL CHECK (issued BETWEEN 0 AND 9007199254740991),
  retired       INTEGER NOT NULL CHECK (retired BETWEEN 0 AND 9007199254740991),
  owed_by_peers INTEGER NOT NULL CHECK (owed_by_peers BETWEEN 0 AND 9007199254740991),
  due_to_peers  INTEGER NOT NULL CHECK (due_to_peers BETWEEN 0 AND 9007199254740991),
  CHECK (agents + holds = issued - retired + owed_by_peers - due_to_peers)
) STRICT;
INSERT INTO ledger_totals VALUES (1, 0, 0, 0, 0, 0, 0);

CREATE TABLE supply_record (
  seq    INTEGER PRIMARY KEY,
  id     BLOB NOT NULL UNIQUE,
  record BLOB NOT NULL
) STRICT;

-- Epochs whose proofs are kept, and what these are made from, in pieces: the AIDs in the order of their leaves (level
-- -1), and the nodes of each level of the tree.
CREATE TABLE supply_epoch (
  day      INTEGER PRIMARY KEY,
  seq      INTEGER NOT NULL REFERENCES supply_record (seq),
  accounts INTEGER NOT NULL
) STRICT;
CREATE TABLE supply_piece (
  day   INTEGER NOT NULL,
  level INTEGER NOT NULL,
  piece INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (day, level, piece)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ledger_transfer_kept BEFORE UPDATE ON ledger_transfer
  BEGIN SELECT raise(ABORT, 'transfers are never changed'); END;
CREATE TRIGGER ledger_transfer_stays BEFORE DELETE ON ledger_transfer
  BEGIN SELECT raise(ABORT, 'transfers are never deleted'); END;
CREATE TRIGGER ledger_entry_kept BEFORE UPDATE ON ledger_entry
  BEGIN SELECT raise(ABORT, 'entries are never changed'); END;
CREATE TRIGGER ledger_entry_stays BEFORE DELETE ON ledger_entry
  BEGIN SELECT raise(ABORT, 'entries are never deleted'); END;
CREATE TRIGGER supply_record_kept BEFORE UPDATE ON supply_record
  BEGIN SELECT raise(ABORT, 'records are never changed'); END;
CREATE TRIGGER supply_record_stays BEFORE DELETE ON supply_record
  BEGIN SELECT raise(ABORT, 'records are never deleted'); END;
