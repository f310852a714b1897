/** Tables of what tasks cost, of what was paid for them, and of what is known of the hubs whose credits these are. */

export const creditsSchema = /* sql */ `
-- What this node was told that a task of its own costs, and what became of it.
CREATE TABLE quotes (
  interaction INTEGER PRIMARY KEY REFERENCES interactions (key),
  -- Who ordered beforehand that it shall be paid, and up to how much.
  ordered_by TEXT CHECK (ordered_by IN ('person', 'agent')),
  credits_max INTEGER,
  state TEXT NOT NULL CHECK (state IN ('awaited', 'open', 'paid', 'refused')),
  amount INTEGER,
  network TEXT,
  hold_seconds INTEGER,
  settle_seconds INTEGER,
  reason TEXT,
  -- The task that was delegated anew, with the payment.
  paid_as INTEGER REFERENCES interactions (key),
  -- What is taken when the work is withdrawn after it began.
  starts INTEGER,
  -- The sentence of the provider, where it is another one than its terms make.
  says TEXT,
  -- Whether a person was shown the price.
  shown INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX quotes_by_state ON quotes (state);

-- One payment for each paid task: what went out, and the spent set of what came in.
CREATE TABLE payments (
  interaction INTEGER PRIMARY KEY REFERENCES interactions (key),
  side TEXT NOT NULL CHECK (side IN ('payer', 'payee')),
  payment BLOB NOT NULL UNIQUE,
  amount INTEGER NOT NULL,
  network TEXT NOT NULL,
  authorization BLOB NOT NULL,
  salt BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('authorized', 'held', 'ending', 'ended', 'refused')),
  at INTEGER NOT NULL,
  hold_until INTEGER,
  held_receipt BLOB,
  end_order BLOB,
  end_receipt BLOB,
  -- What was done for it, before it is sent.
  outcome BLOB,
  outcome_private INTEGER NOT NULL DEFAULT 0,
  -- Who ordered it; only of what went out.
  ordered_by TEXT CHECK (ordered_by IN ('person', 'agent', 'node')),
  -- Credits that moved in the end.
  moved INTEGER,
  reason TEXT,
  -- What is taken when the work is withdrawn after it began, and when it did; only of what came in.
  starts INTEGER,
  began_at INTEGER,
  -- Why the hub has not said what is waited for, how often it was asked in vain, and when it is asked again.
  problem TEXT CHECK (problem IN ('unanswered', 'no_account', 'key_unknown',
    'refused', 'hold_ended', 'hold_lost', 'bad_receipt', 'false_receipt', 'said_refused', 'still_held', 'unproven',
    'other_hub')),
  tries INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0,
  -- What this payee signed to give back; what its payee sent to give it back, until a hub said what became of that.
  refund BLOB,
  refund_told BLOB,
  -- Credits that hubs have moved back.
  refunded INTEGER,
  -- A person went on although its hub had lost it.
  loss_accepted INTEGER NOT NULL DEFAULT 0,
  -- AID of the hub of the other side, where that is another one, and what the payer's hub signed then.
  other_hub TEXT,
  peer_held_receipt BLOB,
  peer_end_receipt BLOB
) STRICT;
CREATE INDEX payments_by_state ON payments (side, state);
CREATE INDEX payments_across ON payments (side) WHERE other_hub IS NOT NULL;
CREATE INDEX payments_refund_waiting ON payments (interaction) WHERE refund IS NOT NULL AND refunded IS NULL;
CREATE INDEX payments_told_waiting ON payments (interaction) WHERE refund_told IS NOT NULL;

-- Refunds that a hub has moved, by their own id: each counts once.
CREATE TABLE refunds (id BLOB PRIMARY KEY, amount INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- What was signed to be taken from a hub that was left to the home, until that has proven that it arrived.
CREATE TABLE credit_moves (
  network TEXT PRIMARY KEY,
  amount INTEGER NOT NULL,
  authorization BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- What was signed to be redeemed, until the hub has proven that it carried it out.
CREATE TABLE redemptions (
  amount INTEGER NOT NULL,
  reference TEXT NOT NULL,
  authorization BLOB NOT NULL,
  -- The hub has refused what was signed last, and may still do it in its time.
  refused INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (amount, reference)
) STRICT, WITHOUT ROWID;

-- What a copy that is lost signed, as hubs show it, by the id of its payment.
CREATE TABLE lost_orders (
  id TEXT PRIMARY KEY,
  -- Of the entry of its hub: its number, when, why, and for whom.
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  counterparty TEXT,
  authorization BLOB NOT NULL,
  -- What its payee took of the hold, once the hub has signed how that ended.
  moved INTEGER
) STRICT, WITHOUT ROWID;

-- Debits of the time that was lost for which a hub shows nothing that was signed.
CREATE TABLE unproven_debits (
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  amount INTEGER NOT NULL,
  at INTEGER NOT NULL,
  counterparty TEXT,
  reason TEXT NOT NULL,
  PRIMARY KEY (hub, seq)
) STRICT, WITHOUT ROWID;

-- What is known of the accounts at hubs, and of the credits of each.
CREATE TABLE hub_accounts (
  hub TEXT PRIMARY KEY,
  -- Why nothing is paid in its credits.
  alarm TEXT,
  -- Up to where the entries of the account were added up, to what, when, and up to where a person went on with them.
  compared_seq INTEGER,
  compared_sum INTEGER,
  compared_at INTEGER,
  accepted_seq INTEGER,
  -- Until when a person has accepted what the hub shows.
  accepted_until INTEGER,
  -- The address at which it refused to show the account when it was asked last, and the code of that.
  refused_url TEXT,
  refused_code TEXT,
  -- Up to where its supply chain was read, what it had issued there, and the roots of the tree over it.
  supply_length INTEGER,
  supply_head BLOB,
  supply_issued INTEGER,
  supply_retired INTEGER,
  supply_roots TEXT,
  -- When a witness of that chain was heard of last, and whether that is long ago.
  witnessed_at INTEGER,
  witness_stale INTEGER NOT NULL DEFAULT 0,
  -- When it was asked what lost copies ordered, and since which restore.
  lost_asked_at INTEGER,
  lost_settled_at INTEGER
) STRICT, WITHOUT ROWID;

-- Records of supply chains that stood there as they were witnessed.
CREATE TABLE witnessed_records (
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id BLOB NOT NULL,
  PRIMARY KEY (hub, seq)
) STRICT, WITHOUT ROWID;

-- Heads of supply chains as receipts and audits showed them, past which no audit has read.
CREATE TABLE supply_heads (
  key INTEGER PRIMARY KEY,
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id BLOB NOT NULL,
  UNIQUE (hub, seq)
) STRICT;

-- When a key state of a hub was first seen here.
CREATE TABLE hub_keys_seen (
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (hub, seq)
) STRICT, WITHOUT ROWID;
`
