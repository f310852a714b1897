-- Payments in the credits of peers: what this hub asked of one for an agent of its own, until that peer has answered. A
-- row that is not `ended` keeps its amount of what the peer may owe. `ask_at_ms` is empty where nothing is to be asked.
CREATE TABLE ledger_peer_payment (
  id               bytea PRIMARY KEY,
  peer             text COLLATE "C" NOT NULL,
  payee            text COLLATE "C" NOT NULL,
  amount           bigint NOT NULL CHECK (amount > 0),
  "authorization"  bytea NOT NULL,
  hold_s           bigint,
  state            text NOT NULL CHECK (state IN ('asked', 'held', 'ended')),
  -- What this hub and its peer signed of the payment or the hold, and then of the end of the hold.
  receipt          bytea,
  peer_receipt     bytea,
  end_receipt      bytea,
  peer_end_receipt bytea,
  -- What the payee signed about the end of the hold.
  hold_order       bytea,
  ask_at_ms        bigint
);
CREATE INDEX ledger_peer_payment_open ON ledger_peer_payment (peer, amount) WHERE state <> 'ended';
CREATE INDEX ledger_peer_payment_due ON ledger_peer_payment (ask_at_ms) WHERE ask_at_ms IS NOT NULL;

-- What this hub and each of its peers last said of what one owes the other. Both agreed last about the transfers up to
-- `agreed_seq`. `accepted` is a difference with which the operator lets payments cross again.
CREATE TABLE ledger_clearing (
  peer       text COLLATE "C" PRIMARY KEY,
  agreed_seq bigint NOT NULL,
  agreed_ms  bigint,
  -- The last look, and how many in a row ended with figures that differ.
  at_ms      bigint,
  due        bigint NOT NULL,
  owed       bigint NOT NULL,
  rounds     bigint NOT NULL,
  accepted   bigint NOT NULL,
  -- Since when no new payment crosses.
  stopped_ms bigint,
  -- The newest epoch of the peer that was compared: what it says that it owes all of its peers, and what it owes this one.
  day        bigint,
  published  bigint,
  claim      bigint
);
