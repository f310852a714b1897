/** Tables of what outlives a restart and belongs to no task: single values of the node, and small kinds of things. */

export const lastingSchema = /* sql */ `
-- Single values of this node, in one row.
CREATE TABLE lasting (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  -- How much of the evidence chain is verified, signed by its identity.
  chain_checkpoint BLOB,
  -- When the archive was made that this store came from, until the hub was asked.
  restored_from INTEGER,
  -- The contacts have still to be asked what was lost.
  contacts_due INTEGER NOT NULL DEFAULT 0,
  -- The head of a correspondent that this chain contradicts.
  contradicting_peer BLOB,
  contradicting_length INTEGER,
  contradicting_id BLOB,
  -- Heads beyond this length, under this key state or an older one, were signed by a copy that is lost.
  lost_beyond INTEGER,
  lost_kel_seq INTEGER,
  -- A key set that a newer copy made may be outnumbered.
  copy_accepted INTEGER NOT NULL DEFAULT 0,
  -- What of a key set above those of lost copies is still to be done.
  key_set_due TEXT CHECK (key_set_due IN ('raise', 'publish')),
  -- Where this store was last used, whether by a second copy, and in the place of which one it goes on.
  place TEXT,
  second_copy TEXT,
  taken_over TEXT,
  -- When another copy was last seen.
  copy_seen_at INTEGER,
  -- The mailbox is to be replaced.
  mailbox_due INTEGER NOT NULL DEFAULT 0,
  -- Seq of the key event under which the outbox was last made ready.
  outbox_kel_seq INTEGER,
  -- The identity that was made anew, and when.
  anew_from TEXT,
  anew_at INTEGER,
  -- When a message was last given up.
  gave_up_at INTEGER,
  -- The day for which uses of capabilities are counted.
  uses_day INTEGER
) STRICT;

-- Every restore of this store, the newest last.
CREATE TABLE restores (
  key INTEGER PRIMARY KEY,
  made_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  -- Key of the newest task that the store had.
  last_task INTEGER
) STRICT;

-- When the newest question was asked what a peer holds that it has answered.
CREATE TABLE numbers_answered (peer TEXT PRIMARY KEY, asked_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- What hubs show of the keys of agents in two ways: forked, cut off, or otherwise than they sign; the proof of each.
CREATE TABLE contradictions (
  kind TEXT NOT NULL CHECK (kind IN ('fork', 'cut', 'notice')),
  aid TEXT NOT NULL,
  proof BLOB NOT NULL,
  PRIMARY KEY (kind, aid)
) STRICT, WITHOUT ROWID;

-- Proof of work that was found, until its hub took it or its time is over.
CREATE TABLE pow_solutions (
  hub TEXT PRIMARY KEY,
  seed BLOB NOT NULL,
  nonce BLOB NOT NULL,
  not_after INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Orders for task boards that left, until the hub has said what came of each: what was ordered, and as it was signed.
CREATE TABLE board_orders (
  key INTEGER PRIMARY KEY,
  hub TEXT NOT NULL,
  name TEXT NOT NULL,
  request TEXT NOT NULL,
  kel_seq INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;

-- Notes of the blackboard.
CREATE TABLE notes (name TEXT PRIMARY KEY, version INTEGER NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- The last answers of the auto-reply, the newest last; and all of its runs within the hour, for its limits.
CREATE TABLE auto_replies (
  key INTEGER PRIMARY KEY,
  interaction_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('answered', 'failed')),
  ms INTEGER NOT NULL,
  cost TEXT
) STRICT;
CREATE TABLE auto_reply_runs (
  key INTEGER PRIMARY KEY,
  peer TEXT NOT NULL,
  at INTEGER NOT NULL,
  ms INTEGER NOT NULL
) STRICT;
`
