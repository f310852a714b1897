-- Signed cards of agents with open mail, as text; `card` is null where its agent left, and `seq` is kept, since no older
-- one is ever taken again. Peers are told of them in the order of `fed_seq`, which is null until one of them asks.
CREATE TABLE open_card (
  n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fed_seq bigint UNIQUE,
  aid     text COLLATE "C" NOT NULL UNIQUE,
  seq     bigint NOT NULL,
  kel_seq bigint NOT NULL,
  card    text
);
CREATE INDEX open_card_pending ON open_card (n) WHERE fed_seq IS NULL;
CREATE INDEX open_card_told ON open_card (fed_seq) WHERE card IS NOT NULL;
CREATE SEQUENCE open_card_seq OWNED BY open_card.fed_seq;

-- Agents with open mail that peers told of, in the order in which they came, and how far each peer was read. A peer tells
-- of its agents again and again, from the start: `pass` is the time at which it told of one last.
CREATE TABLE open_peer_agent (
  n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hub     text COLLATE "C" NOT NULL,
  aid     text COLLATE "C" NOT NULL,
  name    text NOT NULL,
  caps    text NOT NULL,
  summary text NOT NULL,
  kel     bytea NOT NULL,
  card    text NOT NULL,
  seq     bigint NOT NULL,
  pass    bigint NOT NULL,
  UNIQUE (aid, hub)
);
CREATE INDEX open_peer_agent_of ON open_peer_agent (hub, pass);
CREATE TABLE open_peer_read (
  hub     text COLLATE "C" PRIMARY KEY,
  fed_seq bigint NOT NULL,
  agents  bigint NOT NULL,
  pass    bigint NOT NULL DEFAULT 0
);
