-- Counters of a mailbox; nothing is counted at run time. It gives out the ids, to whoever holds the row of its agent.
CREATE TABLE mailbox (
  number             bigint PRIMARY KEY,
  next_id            bigint NOT NULL DEFAULT 1,
  envelopes          bigint NOT NULL DEFAULT 0,
  bytes              bigint NOT NULL DEFAULT 0,
  stranger_envelopes bigint NOT NULL DEFAULT 0,
  stranger_bytes     bigint NOT NULL DEFAULT 0,
  revocations        bigint NOT NULL DEFAULT 0
);

-- Waiting envelopes. Bytes are in the row, or in a file when there are many. Nothing here names a sender.
CREATE TABLE envelope (
  mailbox     bigint NOT NULL,
  id          bigint NOT NULL,
  digest      bytea NOT NULL,
  accepted_ms bigint NOT NULL,
  delete_ms   bigint NOT NULL,
  size        bigint NOT NULL,
  stranger    boolean NOT NULL,
  file        text,
  content     bytea,
  PRIMARY KEY (mailbox, id)
);
CREATE INDEX envelope_delete ON envelope (delete_ms);
CREATE INDEX envelope_file ON envelope (file) WHERE file IS NOT NULL;

-- Envelopes queued in the last day, and whether they still wait: repeats and redelivery are judged by it.
CREATE TABLE digest (
  mailbox  bigint NOT NULL,
  digest   bytea NOT NULL,
  since_ms bigint NOT NULL,
  times    bigint NOT NULL,
  waiting  bigint NOT NULL,
  PRIMARY KEY (mailbox, digest)
);
CREATE INDEX digest_done ON digest (since_ms) WHERE waiting = 0;

-- Distinct envelopes a day under one capability.
CREATE TABLE capability_use (
  day        bigint NOT NULL,
  mailbox    bigint NOT NULL,
  capability bytea NOT NULL,
  uses       bigint NOT NULL,
  PRIMARY KEY (day, mailbox, capability)
);

-- Capabilities that their issuer took back.
CREATE TABLE revocation (
  mailbox    bigint NOT NULL,
  capability bytea NOT NULL,
  delete_ms  bigint NOT NULL,
  PRIMARY KEY (mailbox, capability)
);
CREATE INDEX revocation_delete ON revocation (delete_ms);

-- Collected envelopes and the confirmations that wait for their senders.
CREATE TABLE delivery (
  rid       bytea PRIMARY KEY,
  handle    bytea,
  dack      bytea,
  fetched   boolean NOT NULL,
  delete_ms bigint NOT NULL
);
CREATE INDEX delivery_delete ON delivery (delete_ms);
