-- Settings of the hub: admission mode, the newest time of its own clock, the secret behind proof-of-work seeds.
CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- The registry: one row an agent that is or was registered here. Times are coarse: day of registration, hour last seen.
CREATE TABLE agent (
  number             INTEGER PRIMARY KEY,
  aid                TEXT NOT NULL UNIQUE,
  version            INTEGER NOT NULL,
  registered         INTEGER NOT NULL,
  name               TEXT NOT NULL,
  caps               TEXT NOT NULL,
  summary            TEXT NOT NULL,
  readme             TEXT NOT NULL,
  visibility         TEXT NOT NULL,
  kel                BLOB NOT NULL,
  keys               BLOB,
  keys_before        BLOB,
  before_until_ms    INTEGER NOT NULL,
  registered_day_ms  INTEGER NOT NULL,
  probation_until_ms INTEGER NOT NULL,
  seen_hour_ms       INTEGER NOT NULL
) STRICT;
CREATE INDEX agent_listed ON agent (aid) WHERE registered = 1;
-- Which registered agents have a capability tag; a family is a range of tags.
CREATE TABLE agent_cap (
  cap TEXT NOT NULL,
  aid TEXT NOT NULL,
  PRIMARY KEY (cap, aid)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_cap_of ON agent_cap (aid);
CREATE INDEX agent_seen ON agent (seen_hour_ms) WHERE registered = 1;

-- Two signed key events of one identity at the same place: proof that the identity diverged.
CREATE TABLE fork_proof (
  aid       TEXT NOT NULL,
  seq       INTEGER NOT NULL,
  held      BLOB NOT NULL,
  submitted BLOB NOT NULL,
  seen_ms   INTEGER NOT NULL,
  PRIMARY KEY (aid, seq)
) STRICT, WITHOUT ROWID;

-- What the operator and the clock rules hold for an AID, known here or not yet.
CREATE TABLE account (
  aid                    TEXT PRIMARY KEY,
  admitted               INTEGER NOT NULL DEFAULT 0,
  floor_ms               INTEGER NOT NULL DEFAULT 0,
  envelopes_max          INTEGER,
  bytes_max              INTEGER,
  stranger_envelopes_max INTEGER,
  stranger_bytes_max     INTEGER,
  stranger_per_minute    INTEGER
) STRICT, WITHOUT ROWID;

-- Directory entries in the order in which buckets are read.
CREATE TABLE directory (
  h      BLOB PRIMARY KEY,
  agent  INTEGER NOT NULL UNIQUE,
  box    BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Counters of a mailbox; nothing is counted at run time.
CREATE TABLE mailbox (
  number             INTEGER PRIMARY KEY,
  next_id            INTEGER NOT NULL DEFAULT 1,
  envelopes          INTEGER NOT NULL DEFAULT 0,
  bytes              INTEGER NOT NULL DEFAULT 0,
  stranger_envelopes INTEGER NOT NULL DEFAULT 0,
  stranger_bytes     INTEGER NOT NULL DEFAULT 0,
  revocations        INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Waiting envelopes. Bytes are in the row, or in a file when there are many. Nothing here names a sender.
CREATE TABLE envelope (
  mailbox     INTEGER NOT NULL,
  id          INTEGER NOT NULL,
  rid         BLOB NOT NULL,
  digest      BLOB NOT NULL,
  accepted_ms INTEGER NOT NULL,
  delete_ms   INTEGER NOT NULL,
  size        INTEGER NOT NULL,
  stranger    INTEGER NOT NULL,
  file        TEXT,
  content     BLOB
) STRICT;
CREATE UNIQUE INDEX envelope_place ON envelope (mailbox, id);
CREATE UNIQUE INDEX envelope_rid ON envelope (rid);
CREATE INDEX envelope_delete ON envelope (delete_ms);
CREATE INDEX envelope_file ON envelope (file) WHERE file IS NOT NULL;

-- Envelopes queued in the last day, and whether they still wait: repeats and redelivery are judged by it.
CREATE TABLE digest (
  mailbox  INTEGER NOT NULL,
  digest   BLOB NOT NULL,
  since_ms INTEGER NOT NULL,
  times    INTEGER NOT NULL,
  waiting  INTEGER NOT NULL,
  PRIMARY KEY (mailbox, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX digest_done ON digest (since_ms) WHERE waiting = 0;

-- Distinct envelopes a day under one capability.
CREATE TABLE capability_use (
  day        INTEGER NOT NULL,
  mailbox    INTEGER NOT NULL,
  capability BLOB NOT NULL,
  uses       INTEGER NOT NULL,
  PRIMARY KEY (day, mailbox, capability)
) STRICT, WITHOUT ROWID;

-- Capabilities that their issuer took back.
CREATE TABLE revocation (
  mailbox    INTEGER NOT NULL,
  capability BLOB NOT NULL,
  delete_ms  INTEGER NOT NULL,
  PRIMARY KEY (mailbox, capability)
) STRICT, WITHOUT ROWID;
CREATE INDEX revocation_delete ON revocation (delete_ms);

-- Collected envelopes and the confirmations that wait for their senders.
CREATE TABLE delivery (
  rid       BLOB PRIMARY KEY,
  handle    BLOB,
  dack      BLOB,
  fetched   INTEGER NOT NULL,
  delete_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_delete ON delivery (delete_ms);
