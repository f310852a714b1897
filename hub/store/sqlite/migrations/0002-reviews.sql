-- Ratings of finished tasks. Kept and passed on is what the provider signed; who asked stands here only as a keyed hash
-- that differs from provider to provider.
CREATE TABLE review (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  provider    TEXT NOT NULL,
  interaction BLOB NOT NULL,
  reviewer    BLOB NOT NULL,
  rating      INTEGER NOT NULL,
  receipt     BLOB NOT NULL,
  review      BLOB NOT NULL,
  attestation BLOB NOT NULL,
  UNIQUE (provider, interaction)
) STRICT;
CREATE INDEX review_of ON review (provider, reviewer, rating);
