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
    'refused', 'hold_ended', 'hold_lost', 'bad_receipt', 'false_receipt', 'said_refused', 'still_held', 'unproven')),
  tries INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX payments_by_state ON payments (side, state);
`
