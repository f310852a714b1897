-- How the mail of an agent goes. Whoever is here already has published keys, or is to be asked for them.
ALTER TABLE agent ADD COLUMN mail TEXT NOT NULL DEFAULT 'sealed' CHECK (mail IN ('none', 'open', 'sealed'));
CREATE INDEX agent_open ON agent (aid) WHERE registered = 1 AND mail = 'open';

-- Mailboxes of agents with open mail: what they say of themselves, what the operator says, what waits.
CREATE TABLE open_mailbox (
  number      INTEGER PRIMARY KEY,
  guest_quota INTEGER NOT NULL,
  pricing     TEXT NOT NULL,
  address     TEXT,
  listed      INTEGER NOT NULL DEFAULT 1,
  polled_ms   INTEGER,
  left_ms     INTEGER,
  messages    INTEGER NOT NULL DEFAULT 0,
  bytes       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX open_mailbox_left ON open_mailbox (left_ms) WHERE left_ms IS NOT NULL;

-- Waiting messages, in their order. The hub can read them; the sender is who he says he is.
CREATE TABLE open_message (
  n           INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  mailbox     INTEGER NOT NULL,
  sender      TEXT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('delegate', 'result', 'message')),
  interaction TEXT NOT NULL,
  created_ms  INTEGER NOT NULL,
  size        INTEGER NOT NULL,
  file        TEXT,
  content     BLOB
) STRICT;
CREATE INDEX open_message_of ON open_message (mailbox, n);
CREATE INDEX open_message_file ON open_message (file) WHERE file IS NOT NULL;

-- Tasks of which a result was sent, and sums over all open mail.
CREATE TABLE open_task (interaction TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE open_totals (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  bytes INTEGER NOT NULL,
  tasks INTEGER NOT NULL
) STRICT;
INSERT INTO open_totals (one, bytes, tasks) VALUES (1, 0, 0);
