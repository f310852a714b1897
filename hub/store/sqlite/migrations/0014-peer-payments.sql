-- Payments in the credits of peers: what this hub asked of one for an agent of its own, until that peer has answered. A
-- row that is not `ended` keeps its amount of what the peer may owe. `ask_at_ms` is empty where nothing is to be asked.
CREATE TABLE ledger_peer_payment (
  id               BLOB PRIMARY KEY,
  peer             TEXT NOT NULL,
  payee            TEXT NOT NULL,
  amount           INTEGER NOT NULL CHECK (amount > 0),
  authorization    BLOB NOT NULL,
  hold_s           INTEGER,
  state            TEXT NOT NULL CHECK (state IN ('asked', 'held', 'ended')),
  -- What this hub and its peer signed of the payment or the hold, and then of the end of the hold.
  receipt          BLOB,
  peer_receipt     BLOB,
  end_receipt      BLOB,
  peer_end_receipt BLOB,
  -- What the payee signed about the end of the hold.
  hold_order       BLOB,
  ask_at_ms        INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_peer_payment_open ON ledger_peer_payment (peer, amount) WHERE state <> 'ended';
CREATE INDEX ledger_peer_payment_due ON ledger_peer_payment (ask_at_ms) WHERE ask_at_ms IS NOT NULL;
-- The hub of the payee, where a hold is ended over there.
ALTER TABLE ledger_hold ADD COLUMN peer INTEGER REFERENCES ledger_account (number);
