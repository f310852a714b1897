/** The way of a store that an earlier build left to the tables of this one. A released step is never edited. */
import { fromMemory } from './from-memory.ts'

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
  /* sql */ `
-- Tasks that came over the A2A interface: agent is the AID that they are for, or empty for calls of this node itself.
CREATE TABLE a2a_tasks (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  context TEXT NOT NULL,
  interaction INTEGER REFERENCES interactions (key),
  -- The call that is not paid for yet, while there is no interaction.
  request BLOB,
  -- The client wants no more than the answer: the node ends the task with it.
  ends INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL,
  state_at INTEGER NOT NULL,
  -- The status as clients are told it.
  status TEXT NOT NULL,
  -- Whether nothing more may happen.
  over INTEGER NOT NULL DEFAULT 0,
  -- Number of the newest event.
  events INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX a2a_tasks_by_time ON a2a_tasks (state_at, key);
CREATE INDEX a2a_tasks_by_agent ON a2a_tasks (agent, state_at, key);
CREATE INDEX a2a_tasks_by_context ON a2a_tasks (context, state_at, key);
CREATE INDEX a2a_tasks_by_interaction ON a2a_tasks (interaction);
CREATE INDEX a2a_tasks_unfinished ON a2a_tasks (key) WHERE over = 0;

-- Messages of clients as they came, once for each id.
CREATE TABLE a2a_messages (
  key INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  digest BLOB NOT NULL,
  task INTEGER NOT NULL REFERENCES a2a_tasks (key),
  -- The message of the thread that it became.
  message INTEGER,
  body TEXT NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE INDEX a2a_messages_of_task ON a2a_messages (task, key);

-- What clients are told of a task, in its order; never rewritten.
CREATE TABLE a2a_events (
  task INTEGER NOT NULL REFERENCES a2a_tasks (key),
  n INTEGER NOT NULL,
  body TEXT NOT NULL,
  -- The message of the thread whose answer it tells.
  message INTEGER,
  PRIMARY KEY (task, n)
) STRICT, WITHOUT ROWID;

-- Where clients want to be told, and up to which event they were.
CREATE TABLE a2a_pushes (
  task INTEGER NOT NULL REFERENCES a2a_tasks (key),
  id TEXT NOT NULL,
  config TEXT NOT NULL,
  told INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX a2a_pushes_due ON a2a_pushes (next_at);
`,
  /* sql */ `
-- Terms of a withdrawal, the words beside a price, and who has seen it.
ALTER TABLE quotes ADD COLUMN starts INTEGER;
ALTER TABLE quotes ADD COLUMN says TEXT;
ALTER TABLE quotes ADD COLUMN shown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN starts INTEGER;
ALTER TABLE payments ADD COLUMN began_at INTEGER;
`,
  /* sql */ `
-- Whether the next own number is known not to be taken: 'asking' and 'awaiting' until the peer said what it holds.
ALTER TABLE interactions ADD COLUMN numbering TEXT NOT NULL DEFAULT 'certain'
  CHECK (numbering IN ('certain', 'asking', 'awaiting', 'told'));
-- Own number up to which the bare word of the peer proves delivery; null: every one.
ALTER TABLE interactions ADD COLUMN certain_to INTEGER;
-- When the peer said that it lost this task with a restore.
ALTER TABLE interactions ADD COLUMN lost_by_peer_at INTEGER;
-- Whose words the reason of a review is: what is not known to be ours is the hub's.
ALTER TABLE reviews ADD COLUMN reason_by TEXT CHECK (reason_by IN ('node', 'hub'));
UPDATE reviews SET reason_by = 'hub' WHERE reason IS NOT NULL;
-- The task that was delegated in the place of one that the peer lost.
ALTER TABLE interactions ADD COLUMN anew_as INTEGER REFERENCES interactions (key);
CREATE INDEX interactions_anew ON interactions (anew_as) WHERE anew_as IS NOT NULL;
CREATE INDEX interactions_uncertain ON interactions (key) WHERE numbering IN ('asking', 'awaiting');

-- Before which message readers see it, by that one's key, where it came later than what was said after it.
ALTER TABLE messages ADD COLUMN place INTEGER;
-- It stands in the place of one that only the other side says this node has sent.
ALTER TABLE messages ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0;
-- The hub may have lost it: it was away, or came back from a backup, since it took this.
ALTER TABLE outbox ADD COLUMN doubted INTEGER NOT NULL DEFAULT 0;
-- What it waits for beyond its time, which was told by the words of its last error before.
ALTER TABLE outbox ADD COLUMN waits_for TEXT CHECK (waits_for IN ('person', 'stock', 'access', 'task'));
UPDATE outbox SET waits_for = 'stock' WHERE last_error IN ('too_large_for_stranger', 'strangers_busy');
UPDATE outbox SET waits_for = 'person' WHERE state = 'queued' AND next_at = deadline_at
  AND last_error = 'held back by you';
UPDATE outbox SET waits_for = 'task' WHERE last_error LIKE 'it came before its task%';

-- Tasks that this node had before it was restored and does not have any more, as its correspondents name them.
CREATE TABLE lost_tasks (
  id TEXT PRIMARY KEY,
  peer TEXT NOT NULL,
  at INTEGER NOT NULL,
  told INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
`,
  /* sql */ `
-- Why the hub has not said what is waited for, how often it was asked in vain, and when it is asked again.
ALTER TABLE payments ADD COLUMN problem TEXT CHECK (problem IN ('unanswered', 'no_account', 'key_unknown',
    'refused', 'hold_ended', 'hold_lost', 'bad_receipt', 'false_receipt', 'said_refused', 'still_held', 'unproven'));
ALTER TABLE payments ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;
`,
  /* sql */ `
-- Of a lost task, as the peer says: whether this node had delegated it, when the peer got it, what was signed for it.
ALTER TABLE lost_tasks ADD COLUMN side TEXT CHECK (side IN ('sent', 'received'));
ALTER TABLE lost_tasks ADD COLUMN delegated_at INTEGER;
ALTER TABLE lost_tasks ADD COLUMN payment BLOB;
`,
  /* sql */ `
-- First letters of words have an index of their own: what begins with one is found without reading every such word.
DROP TABLE messages_text;
CREATE VIRTUAL TABLE messages_text USING fts5 (text, content = 'messages', content_rowid = 'key', prefix = '1');
INSERT INTO messages_text (rowid, text) SELECT key, text FROM messages;
`,
  /* sql */ `
-- Whose words a reason is, which was told by its words before: what a hub may have had a word in stays unknown.
ALTER TABLE interactions ADD COLUMN reason_by TEXT CHECK (reason_by IN ('node', 'peer'));
UPDATE interactions SET reason_by = iif(state = iif(side = 'sent', 'declined', 'cancelled'), 'peer', 'node')
  WHERE reason IS NOT NULL AND state <> 'failed';
ALTER TABLE messages ADD COLUMN reason_by TEXT CHECK (reason_by IN ('node'));
ALTER TABLE outbox ADD COLUMN error_by TEXT CHECK (error_by IN ('node', 'hub'));
UPDATE outbox SET error_by = 'node' WHERE waits_for = 'person';
-- The code with which a hub refused it last.
ALTER TABLE outbox ADD COLUMN refused_as TEXT;
`,
  /* sql */ `
-- How a task came, which the number of a wire told before.
ALTER TABLE interactions ADD COLUMN way TEXT NOT NULL DEFAULT 'sealed' CHECK (way IN ('local', 'sealed', 'open'));
UPDATE interactions SET way = iif(wire = 0, 'local', 'open') WHERE wire < 2;
ALTER TABLE interactions DROP COLUMN wire;
`,
  /* sql */ `
-- The updated_at at which it was taken out of the lists: whatever happens in it brings it back.
ALTER TABLE interactions ADD COLUMN archived_at INTEGER;
-- Lists leave it out without reading a row.
DROP INDEX interactions_by_side;
CREATE INDEX interactions_by_side ON interactions (side, updated_at, key, archived_at);
DROP INDEX interactions_by_state;
CREATE INDEX interactions_by_state ON interactions (side, state, updated_at, key, archived_at);
`,
  fromMemory,
  /* sql */ `
-- AID of the hub of the other side, where that is another one, and what the payer's hub signed then.
ALTER TABLE payments ADD COLUMN other_hub TEXT;
ALTER TABLE payments ADD COLUMN peer_held_receipt BLOB;
ALTER TABLE payments ADD COLUMN peer_end_receipt BLOB;
CREATE INDEX payments_across ON payments (side) WHERE other_hub IS NOT NULL;
-- What was signed to be taken from a hub that was left to the home, until that has proven that it arrived.
CREATE TABLE credit_moves (
  network TEXT PRIMARY KEY,
  amount INTEGER NOT NULL,
  authorization BLOB NOT NULL
) STRICT, WITHOUT ROWID;
-- A payment may wait for that hub.
ALTER TABLE payments ADD COLUMN problem_now TEXT CHECK (problem_now IN ('unanswered', 'no_account', 'key_unknown',
    'refused', 'hold_ended', 'hold_lost', 'bad_receipt', 'false_receipt', 'said_refused', 'still_held', 'unproven',
    'other_hub'));
UPDATE payments SET problem_now = problem;
ALTER TABLE payments DROP COLUMN problem;
ALTER TABLE payments RENAME COLUMN problem_now TO problem;
`,
  /* sql */ `
-- Whether its person lets a hub publish the task and its answer with it.
ALTER TABLE reviews ADD COLUMN publishes INTEGER NOT NULL DEFAULT 0;
`,
  /* sql */ `
-- It went to its recipient past the hub.
ALTER TABLE messages ADD COLUMN direct INTEGER NOT NULL DEFAULT 0;
`,
  /* sql */ `
-- Orders for task boards that left, until the hub has said what came of each: what was ordered, and as it was signed.
CREATE TABLE board_orders (
  key INTEGER PRIMARY KEY,
  hub TEXT NOT NULL,
  name TEXT NOT NULL,
  request TEXT NOT NULL,
  kel_seq INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;
`,
  /* sql */ `
-- The hub has refused what was signed last, and may still do it in its time.
ALTER TABLE redemptions ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
`,
  /* sql */ `
-- What a review waits for beyond its time.
ALTER TABLE reviews ADD COLUMN waits_for TEXT CHECK (waits_for IN ('person'));
`,
  /* sql */ `
-- A visitor has no key: nobody signs the receipt of its task, and what its hub took has arrived.
UPDATE messages SET delivery = 'delivered'
  WHERE key IN (SELECT message FROM outbox WHERE state = 'at_hub' AND peer IN (SELECT aid FROM hubs));
DELETE FROM outbox WHERE state = 'at_hub' AND peer IN (SELECT aid FROM hubs);
UPDATE interactions SET receipt_state = 'none', reason_by = 'node',
    reason = 'no receipt: a visitor of a hub has no key to sign one with'
  WHERE way = 'open' AND side = 'received' AND state = 'ended' AND receipt_state = 'made'
    AND peer IN (SELECT aid FROM hubs);
`,
  /* sql */ `
-- Where correspondents take mail directly, and what they were told of this node.
CREATE TABLE direct_addresses (
  peer TEXT PRIMARY KEY,
  address TEXT,
  said_at INTEGER,
  told TEXT,
  told_at INTEGER
) STRICT, WITHOUT ROWID;

-- Envelopes that came under a capability of this node, by their digests.
CREATE TABLE capability_uses (
  id BLOB NOT NULL,
  digest BLOB NOT NULL,
  day INTEGER NOT NULL,
  PRIMARY KEY (id, digest)
) STRICT, WITHOUT ROWID;
`,
]
