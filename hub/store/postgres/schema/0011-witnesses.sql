-- Who watches the supply chain: those whom the operator named, with their key history as they sent it.
CREATE TABLE witness (
  aid   text COLLATE "C" PRIMARY KEY,
  url   text,
  kel   bytea,
  -- The last statement about a record that this chain does not have yet: it went on from here once.
  ahead bytea
);
-- Their statements: the newest of each witness after each epoch. `day` is that of the epoch, -1 before all that are kept.
CREATE TABLE witness_statement (
  witness     text COLLATE "C" NOT NULL REFERENCES witness (aid),
  day         bigint NOT NULL,
  seq         bigint NOT NULL,
  observed_ms bigint NOT NULL,
  statement   bytea NOT NULL,
  PRIMARY KEY (witness, day)
);

-- The supply chains of other hubs that are watched from here, and what was signed about them.
CREATE TABLE watched_chain (
  hub       text COLLATE "C" PRIMARY KEY,
  kel       bytea NOT NULL,
  -- Number of records, and where reading goes on: after the last epoch.
  length    bigint NOT NULL,
  place     text NOT NULL,
  statement bytea NOT NULL
);
CREATE TABLE watched_record (
  hub    text COLLATE "C" NOT NULL,
  seq    bigint NOT NULL,
  record bytea NOT NULL,
  PRIMARY KEY (hub, seq)
);
-- What a hub showed that does not go on from there: evidence.
CREATE TABLE watched_conflict (
  n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hub     text COLLATE "C" NOT NULL,
  seen_ms bigint NOT NULL,
  why     text NOT NULL,
  record  bytea
);
