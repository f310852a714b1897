/** The way of a store that an earlier build left to the tables of this one. A released step is never edited. */

/** Step n brings a store from schema n + 1 to schema n + 2; schema 1 is the first that was released. */
export const upgrades: readonly string[] = [
  /* sql */ `
-- Ids of capabilities that the hub has still to be told of.
CREATE TABLE revocations (id BLOB PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- The chain record that first named the receipt.
ALTER TABLE interactions ADD COLUMN receipt_seq INTEGER;
CREATE INDEX interactions_receipt_waiting ON interactions (key) WHERE receipt_state = 'waiting';
`,
  /* sql */ `
-- What a hub is known to hold of this node's card, and the address that such a card names.
ALTER TABLE hubs ADD COLUMN base_url TEXT;
ALTER TABLE hubs ADD COLUMN card BLOB;
ALTER TABLE hubs ADD COLUMN card_state TEXT CHECK (card_state IN ('stored', 'refused'));
ALTER TABLE hubs ADD COLUMN card_seen_at INTEGER;
`,
  /* sql */ `
-- Columns that were written and never read, or never written.
ALTER TABLE hubs DROP COLUMN floor;
ALTER TABLE hubs DROP COLUMN stopped;
ALTER TABLE peers DROP COLUMN refreshed_at;
ALTER TABLE interactions DROP COLUMN ended_at;
ALTER TABLE interactions DROP COLUMN unanswered;
ALTER TABLE interactions DROP COLUMN receipt_former;
ALTER TABLE interactions DROP COLUMN note;
ALTER TABLE messages DROP COLUMN accepted_at;
ALTER TABLE messages DROP COLUMN kel_seq;
ALTER TABLE messages DROP COLUMN delivered_at;
ALTER TABLE outbox DROP COLUMN capability;
`,
  /* sql */ `
-- Under what the last envelope of a message went: 'session', or the id of a capability.
ALTER TABLE outbox ADD COLUMN credential TEXT;
-- A receipt of the same provider that says something else than the one that is kept.
ALTER TABLE interactions ADD COLUMN contradicting BLOB;
`,
  /* sql */ `
-- The longest head of its chain that the peer signed, as it is given back, and when it last knew of it.
ALTER TABLE peers ADD COLUMN head BLOB;
ALTER TABLE peers ADD COLUMN head_length INTEGER;
ALTER TABLE peers ADD COLUMN head_at INTEGER;
`,
  /* sql */ `
-- The index of words follows the messages.
DROP TRIGGER messages_text_added;
`,
  /* sql */ `
-- Which capabilities came together, in the order in which they came.
ALTER TABLE capabilities_held ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;
`,
  /* sql */ `
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
  paid_as INTEGER REFERENCES interactions (key)
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
  reason TEXT
) STRICT;
CREATE INDEX payments_by_state ON payments (side, state);
`,
  /* sql */ `
-- Questions that a long history must not make slow.
CREATE INDEX interactions_by_id ON interactions (id);
CREATE INDEX interactions_unfinished ON interactions (key)
  WHERE state IN ('queued', 'delivered', 'pending', 'open', 'end_proposed');
CREATE INDEX interactions_contradicted ON interactions (key) WHERE contradicting IS NOT NULL;
CREATE INDEX reviews_kept ON reviews (next_at) WHERE state = 'kept';
`,
  /* sql */ `
-- Ratings that wait for the receipt of their task.
CREATE TABLE ratings (
  interaction INTEGER PRIMARY KEY REFERENCES interactions (key),
  rating INTEGER NOT NULL,
  comment TEXT NOT NULL
) STRICT;
`,
]
