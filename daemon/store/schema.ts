/** Tables of the node's store as this build makes them in a new home; `upgrades.ts` brings an older store here. */
import { creditsSchema } from './schema-credits.ts'
import { lastingSchema } from './schema-lasting.ts'

const tables = /* sql */ `
CREATE TABLE hubs (
  url TEXT PRIMARY KEY,
  aid TEXT NOT NULL,
  wire INTEGER NOT NULL,
  log BLOB NOT NULL,
  bits INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('home', 'draining', 'known')),
  drain_until INTEGER,
  registered_seq INTEGER,
  -- What the hub is known to hold of this node's card, and the address that such a card names.
  base_url TEXT,
  card BLOB,
  card_state TEXT CHECK (card_state IN ('stored', 'refused')),
  card_seen_at INTEGER
) STRICT;

CREATE TABLE wires_seen (hub TEXT PRIMARY KEY, wire INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE contacts (
  aid TEXT PRIMARY KEY,
  petname TEXT UNIQUE COLLATE NOCASE,
  blocked INTEGER NOT NULL DEFAULT 0,
  added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE peers (
  aid TEXT PRIMARY KEY,
  log BLOB NOT NULL,
  keys BLOB,
  introduced TEXT,
  -- The longest head of its chain that the peer signed, in the form that is given back, and when it last knew of it.
  head BLOB,
  head_length INTEGER,
  head_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE capabilities_held (
  id BLOB PRIMARY KEY,
  peer TEXT NOT NULL,
  epoch BLOB NOT NULL,
  body BLOB NOT NULL,
  signature BLOB NOT NULL,
  holder_seed BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  bytes_max INTEGER NOT NULL,
  uses INTEGER NOT NULL DEFAULT 0,
  batch INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX capabilities_held_by_peer ON capabilities_held (peer, uses);

CREATE TABLE capabilities_issued (
  id BLOB PRIMARY KEY,
  peer TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  used INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX capabilities_issued_by_peer ON capabilities_issued (peer, used, expires_at);

-- Ids of capabilities that the hub has still to be told of.
CREATE TABLE revocations (id BLOB PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

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

CREATE TABLE interactions (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  delegator TEXT NOT NULL,
  peer TEXT NOT NULL,
  side TEXT NOT NULL CHECK (side IN ('sent', 'received')),
  state TEXT NOT NULL,
  reason TEXT,
  capability TEXT,
  preview TEXT NOT NULL,
  commitment BLOB,
  rsalt BLOB,
  request_cid TEXT NOT NULL,
  result_cid TEXT,
  status TEXT,
  started_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  numbered INTEGER NOT NULL DEFAULT 0,
  held_to INTEGER NOT NULL DEFAULT 0,
  held_highest INTEGER NOT NULL DEFAULT 0,
  end_by TEXT CHECK (end_by IN ('me', 'peer')),
  own_last INTEGER,
  own_end_at INTEGER,
  peer_last INTEGER,
  peer_lacks TEXT NOT NULL DEFAULT '[]',
  receipt BLOB,
  receipt_state TEXT,
  receipt_note TEXT,
  counter_signature BLOB,
  read_to INTEGER NOT NULL DEFAULT 0,
  last_in INTEGER NOT NULL DEFAULT 0,
  auto_replies INTEGER NOT NULL DEFAULT 0,
  auto_reply INTEGER NOT NULL DEFAULT 1,
  -- The chain record that first named the receipt.
  receipt_seq INTEGER,
  -- A receipt of the same provider that says something else than the one that is kept.
  contradicting BLOB,
  -- Whether the next own number is known not to be taken: 'asking' and 'awaiting' until the peer said what it holds.
  numbering TEXT NOT NULL DEFAULT 'certain' CHECK (numbering IN ('certain', 'asking', 'awaiting', 'told')),
  -- Own number up to which the bare word of the peer proves delivery; null: every one.
  certain_to INTEGER,
  -- When the peer said that it lost this task with a restore.
  lost_by_peer_at INTEGER,
  -- The task that was delegated in the place of one that the peer lost.
  anew_as INTEGER REFERENCES interactions (key),
  -- Whose words the reason is.
  reason_by TEXT CHECK (reason_by IN ('node', 'peer')),
  -- How it came: by an interface of this node, sealed for one node alone, or open to the hub.
  way TEXT NOT NULL DEFAULT 'sealed' CHECK (way IN ('local', 'sealed', 'open')),
  -- The updated_at at which it was taken out of the lists: whatever happens in it brings it back.
  archived_at INTEGER,
  -- What a task in words cost when it came, while it is not paid for.
  open_price INTEGER,
  -- The run of a call has begun, and is not made a second time.
  call_begun INTEGER NOT NULL DEFAULT 0,
  UNIQUE (delegator, id)
) STRICT;
CREATE INDEX interactions_by_side ON interactions (side, updated_at, key, archived_at);
CREATE INDEX interactions_by_state ON interactions (side, state, updated_at, key, archived_at);
CREATE INDEX interactions_unread ON interactions (key) WHERE last_in > read_to;
CREATE INDEX interactions_by_peer ON interactions (peer, updated_at);
CREATE INDEX interactions_receipt_waiting ON interactions (key) WHERE receipt_state = 'waiting';
CREATE INDEX interactions_anew ON interactions (anew_as) WHERE anew_as IS NOT NULL;
CREATE INDEX interactions_by_id ON interactions (id);
CREATE INDEX interactions_unfinished ON interactions (key)
  WHERE state IN ('queued', 'delivered', 'pending', 'open', 'end_proposed');
CREATE INDEX interactions_contradicted ON interactions (key) WHERE contradicting IS NOT NULL;
CREATE INDEX interactions_uncertain ON interactions (key) WHERE numbering IN ('asking', 'awaiting');

-- Tasks that this node had before it was restored and does not have any more, as its correspondents name them.
CREATE TABLE lost_tasks (
  id TEXT PRIMARY KEY,
  peer TEXT NOT NULL,
  at INTEGER NOT NULL,
  told INTEGER NOT NULL DEFAULT 0,
  -- Whether this node had delegated it, when the peer got it, and the id of what was signed for it: the word of the peer.
  side TEXT CHECK (side IN ('sent', 'received')),
  delegated_at INTEGER,
  payment BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  key INTEGER PRIMARY KEY,
  interaction INTEGER REFERENCES interactions (key),
  direction TEXT NOT NULL CHECK (direction IN ('out', 'in')),
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  message_id BLOB NOT NULL,
  kind INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  payload BLOB NOT NULL,
  digest BLOB NOT NULL,
  text TEXT NOT NULL,
  retired INTEGER NOT NULL DEFAULT 0,
  auto INTEGER NOT NULL DEFAULT 0,
  delivery TEXT,
  reason TEXT,
  -- Before which message readers see it, by that one's key, where it came later than what was said after it.
  place INTEGER,
  -- It stands in the place of one that only the other side says this node has sent.
  claimed INTEGER NOT NULL DEFAULT 0,
  -- Whose words the reason is.
  reason_by TEXT CHECK (reason_by IN ('node')),
  -- It went to its recipient past the hub.
  direct INTEGER NOT NULL DEFAULT 0,
  UNIQUE (sender, message_id)
) STRICT;
CREATE UNIQUE INDEX messages_by_number ON messages (interaction, direction, number) WHERE number > 0;
CREATE INDEX messages_of_interaction ON messages (interaction, key);

CREATE TABLE message_attachments (
  message INTEGER NOT NULL REFERENCES messages (key),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  cid TEXT NOT NULL,
  PRIMARY KEY (message, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_by_cid ON message_attachments (cid);

CREATE TABLE outbox (
  message INTEGER PRIMARY KEY REFERENCES messages (key),
  peer TEXT NOT NULL,
  interaction INTEGER,
  state TEXT NOT NULL CHECK (state IN ('queued', 'at_hub')),
  next_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  handle_secret BLOB NOT NULL,
  rid TEXT,
  via_hub TEXT,
  digests TEXT NOT NULL DEFAULT '[]',
  credentials_tried INTEGER NOT NULL DEFAULT 0,
  resent INTEGER NOT NULL DEFAULT 0,
  introduces TEXT,
  granted BLOB,
  expires_at INTEGER,
  deadline_at INTEGER NOT NULL,
  last_error TEXT,
  -- Under what the last envelope of a message went: 'session', or the id of a capability.
  credential TEXT,
  -- The hub may have lost it: it was away, or came back from a backup, since it took this.
  doubted INTEGER NOT NULL DEFAULT 0,
  -- What it waits for beyond its time.
  waits_for TEXT CHECK (waits_for IN ('person', 'stock', 'access', 'task')),
  -- Whose words the last error is, and the code with which a hub refused it last.
  error_by TEXT CHECK (error_by IN ('node', 'hub')),
  refused_as TEXT
) STRICT;
CREATE INDEX outbox_due ON outbox (state, next_at);
CREATE INDEX outbox_by_interaction ON outbox (interaction, message);
CREATE INDEX outbox_by_peer ON outbox (peer, message);

CREATE TABLE seen (
  sender TEXT NOT NULL,
  message_id BLOB NOT NULL,
  code INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (sender, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_until ON seen (until);

CREATE TABLE idempotency (
  key TEXT PRIMARY KEY,
  digest BLOB NOT NULL,
  reply TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reviews (
  interaction INTEGER PRIMARY KEY REFERENCES interactions (key),
  rating INTEGER NOT NULL,
  review BLOB NOT NULL,
  cid TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('kept', 'uploaded', 'refused')),
  reason TEXT,
  next_at INTEGER NOT NULL,
  until INTEGER NOT NULL,
  attestation BLOB,
  -- Whose words the reason is.
  reason_by TEXT CHECK (reason_by IN ('node', 'hub')),
  -- Whether its person lets a hub publish the task and its answer with it.
  publishes INTEGER NOT NULL DEFAULT 0,
  -- What it waits for beyond its time.
  waits_for TEXT CHECK (waits_for IN ('person'))
) STRICT;
CREATE INDEX reviews_kept ON reviews (next_at) WHERE state = 'kept';

-- Ratings that wait for the receipt of their task.
CREATE TABLE ratings (
  interaction INTEGER PRIMARY KEY REFERENCES interactions (key),
  rating INTEGER NOT NULL,
  comment TEXT NOT NULL
) STRICT;

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
  -- The status that clients are told.
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

CREATE TABLE chain (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  type TEXT NOT NULL,
  record BLOB NOT NULL,
  drained INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX chain_by_type ON chain (type, seq);
CREATE INDEX chain_undrained ON chain (drained, seq) WHERE drained = 0;

CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE messages_text USING fts5 (text, content = 'messages', content_rowid = 'key', prefix = '1');
`

/** Every table. */
export const schema = tables + creditsSchema + lastingSchema
