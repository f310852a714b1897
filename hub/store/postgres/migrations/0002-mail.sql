-- Counters of a mailbox; nothing is counted at run time. Its row gives out the ids, under its lock.
CREATE TABLE mailbox (
  number             bigint PRIMARY KEY,
  next_id            bigint NOT NULL DEFAULT 1,
  envelopes          bigint NOT NULL DEFAULT 0,
  bytes              bigint NOT NULL DEFAULT 0,
  stranger_envelopes bigint NOT NULL DEFAULT 0,
  stranger_bytes     bigint NOT NULL DEFAULT 0,
  revocations        bigint NOT NULL DEFAULT 0
);
