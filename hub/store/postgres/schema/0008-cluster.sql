-- What the processes of one hub remember together. Unlogged: a crash or a failover empties all of it at once, and the row
-- of memory_began with it; whoever finds none begins anew.
CREATE UNLOGGED TABLE memory_began (
  one   boolean PRIMARY KEY DEFAULT true CHECK (one),
  at_ms bigint NOT NULL
);
INSERT INTO memory_began (at_ms) VALUES (0);

-- Processes that live: each says so every two seconds, by the clock of the database. Two things are files of each machine:
-- the key history of the hub, of which it tells how many events there are and the digest of the last one, and the list of
-- peers, of which it tells a hash.
CREATE UNLOGGED TABLE process (
  id         text COLLATE "C" PRIMARY KEY,
  release    text NOT NULL,
  beat_ms    bigint NOT NULL,
  key_events bigint NOT NULL,
  head       text NOT NULL,
  peers      text NOT NULL
);

-- The newest time of each signer's requests, and as much of the latest ones as tells them apart.
CREATE UNLOGGED TABLE signed_time (
  aid     text COLLATE "C" PRIMARY KEY,
  last_ms bigint NOT NULL,
  latest  text NOT NULL
);
CREATE INDEX signed_time_last ON signed_time (last_ms);

-- Sending sessions. Names and owners are keyed hashes, and the AID is sealed: without the secret of the hub nobody learns
-- whose a session is.
CREATE UNLOGGED TABLE sending_session (
  name   bytea PRIMARY KEY,
  owner  bytea NOT NULL,
  opened bigint GENERATED ALWAYS AS IDENTITY,
  sealed bytea NOT NULL,
  exp_ms bigint NOT NULL
);
CREATE INDEX sending_session_owner ON sending_session (owner, opened);
CREATE INDEX sending_session_exp ON sending_session (exp_ms);

-- First contacts: how often a name was counted in its minute or day, and what waits of a share. Names are hashes under a
-- key of the day.
CREATE UNLOGGED TABLE contact_count (
  name     bytea PRIMARY KEY,
  used     bigint NOT NULL,
  until_ms bigint NOT NULL
);
CREATE INDEX contact_count_until ON contact_count (until_ms);
CREATE UNLOGGED TABLE contact_waiting (
  mailbox  bigint NOT NULL,
  id       bigint NOT NULL,
  share    bytea NOT NULL,
  until_ms bigint NOT NULL,
  PRIMARY KEY (mailbox, id)
);
CREATE INDEX contact_waiting_until ON contact_waiting (until_ms);

-- Visitors. Secrets and tasks are keyed hashes, words are sealed.
CREATE UNLOGGED TABLE visit (
  name          bytea PRIMARY KEY,
  task          bytea NOT NULL UNIQUE,
  owner         bytea,
  opened        bigint GENERATED ALWAYS AS IDENTITY,
  version       bigint NOT NULL,
  waiting_bytes bigint NOT NULL,
  seen_ms       bigint NOT NULL,
  sealed        bytea NOT NULL
);
CREATE INDEX visit_owner ON visit (owner);
CREATE INDEX visit_seen ON visit (seen_ms);
