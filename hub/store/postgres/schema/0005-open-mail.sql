-- Mailboxes of agents with open mail: what they say of themselves, what the operator says, what waits. `away`: nobody has
-- asked for this mail for long, or it is no longer open. `place` has nothing to do with when an agent came, so that one
-- is drawn from any point of it by reading a few.
CREATE TABLE open_mailbox (
  number      bigint PRIMARY KEY,
  guest_quota bigint NOT NULL,
  pricing     text NOT NULL,
  address     text,
  listed      boolean NOT NULL DEFAULT true,
  polled_ms   bigint,
  left_ms     bigint,
  messages    bigint NOT NULL DEFAULT 0,
  bytes       bigint NOT NULL DEFAULT 0,
  away        boolean NOT NULL DEFAULT false,
  place       bigint GENERATED ALWAYS AS (((number % 2147483648) * 2654435761) & 4294967295) STORED
);
CREATE INDEX open_mailbox_left ON open_mailbox (left_ms) WHERE left_ms IS NOT NULL;
CREATE INDEX open_mailbox_taker ON open_mailbox (place)
  WHERE guest_quota > 0 AND listed AND left_ms IS NULL AND NOT away;
CREATE INDEX open_mailbox_polled ON open_mailbox (polled_ms) WHERE NOT away;

-- Waiting messages, in their order. The hub can read them; the sender is who he says he is.
CREATE TABLE open_message (
  n           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id          text COLLATE "C" NOT NULL UNIQUE,
  mailbox     bigint NOT NULL,
  sender      text NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('delegate', 'result', 'message')),
  interaction text NOT NULL,
  created_ms  bigint NOT NULL,
  size        bigint NOT NULL,
  file        text,
  content     bytea
);
CREATE INDEX open_message_of ON open_message (mailbox, n);
CREATE INDEX open_message_file ON open_message (file) WHERE file IS NOT NULL;

-- Tasks of which a result was sent, and sums over all open mail.
CREATE TABLE open_task (interaction text COLLATE "C" PRIMARY KEY);
CREATE TABLE open_totals (
  one   bigint PRIMARY KEY CHECK (one = 1),
  bytes bigint NOT NULL DEFAULT 0,
  tasks bigint NOT NULL DEFAULT 0
);

INSERT INTO open_totals (one) VALUES (1);

-- What other hubs handed on, so that it is queued once; and how much of it is remembered of each.
CREATE TABLE open_forward (
  n      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  origin text COLLATE "C" NOT NULL,
  digest bytea NOT NULL UNIQUE,
  at_ms  bigint NOT NULL
);
CREATE INDEX open_forward_of ON open_forward (origin, n);
CREATE INDEX open_forward_at ON open_forward (at_ms);
CREATE TABLE open_forwards (
  origin text COLLATE "C" PRIMARY KEY,
  held   bigint NOT NULL
);

-- Agents that the operator took off the registry for a while, the newest last; what they had is kept.
CREATE TABLE archived (
  n      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  aid    text COLLATE "C" NOT NULL UNIQUE,
  at_ms  bigint NOT NULL,
  reason text NOT NULL
);
-- Agents that the operator vouches for, and whose mail reaches them: `senders` is a JSON list of AIDs, null for anybody's.
CREATE TABLE official (
  aid      text COLLATE "C" PRIMARY KEY,
  place    bigint NOT NULL,
  badge    text NOT NULL,
  added_ms bigint NOT NULL,
  senders  text,
  visitors boolean NOT NULL
);
CREATE INDEX official_place ON official (place, aid);
-- What was ordered through the page of the operator, the newest last.
CREATE TABLE operator_act (
  n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms   bigint NOT NULL,
  who     text NOT NULL,
  action  text NOT NULL,
  subject text NOT NULL,
  detail  text NOT NULL
);

-- Sums over all reviews of agents with open mail.
CREATE TABLE open_review_totals (
  one     bigint PRIMARY KEY CHECK (one = 1),
  reviews bigint NOT NULL,
  ratings bigint NOT NULL,
  bytes   bigint NOT NULL
);
INSERT INTO open_review_totals (one, reviews, ratings, bytes) VALUES (1, 0, 0, 0);
