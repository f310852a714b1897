-- Reviews of agents with open mail, in the order in which peers are told of them. Each names its reviewer, and has the
-- documents that its receipt binds; `provider_kel` where its provider is known from elsewhere alone.
CREATE TABLE open_review (
  fed_seq      INTEGER PRIMARY KEY AUTOINCREMENT,
  provider     TEXT NOT NULL,
  interaction  BLOB NOT NULL,
  reviewer     TEXT NOT NULL,
  rating       INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5),
  provider_kel BLOB,
  receipt      BLOB NOT NULL,
  review       BLOB NOT NULL,
  request      BLOB NOT NULL,
  deliverable  BLOB NOT NULL,
  UNIQUE (provider, interaction)
) STRICT;
CREATE INDEX open_review_of ON open_review (provider, reviewer, rating);

-- Sums over all of them.
CREATE TABLE open_review_totals (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  reviews INTEGER NOT NULL,
  ratings INTEGER NOT NULL,
  bytes   INTEGER NOT NULL
) STRICT;
INSERT INTO open_review_totals (one, reviews, ratings, bytes) VALUES (1, 0, 0, 0);
