-- What peers are told of reviews, in the order of their numbers, which are never given again. `peer` is empty where all of
-- them are told; `review` is null where an agent's reviews are withdrawn.
CREATE TABLE told_review (
  fed_seq  INTEGER PRIMARY KEY AUTOINCREMENT,
  provider TEXT NOT NULL,
  peer     TEXT NOT NULL,
  review   INTEGER REFERENCES review (seq)
) STRICT;
CREATE INDEX told_review_to ON told_review (peer, fed_seq);
CREATE INDEX told_review_of ON told_review (provider, peer);
INSERT INTO told_review (provider, peer, review)
  SELECT review.provider, '', review.seq FROM review JOIN agent ON agent.aid = review.provider
  WHERE agent.registered = 1 AND agent.visibility <> 'hub-local' ORDER BY review.seq;
-- Key histories of reviewed agents that are not registered here: the longest that came with a review.
CREATE TABLE review_provider (
  aid TEXT PRIMARY KEY,
  kel BLOB NOT NULL
) STRICT;
-- What peers told of reviews that they attest, in the order in which it came; nothing here names a reviewer.
CREATE TABLE peer_review (
  n           INTEGER PRIMARY KEY,
  provider    TEXT NOT NULL,
  interaction BLOB NOT NULL,
  hub         TEXT NOT NULL,
  rating      INTEGER NOT NULL,
  UNIQUE (provider, interaction, hub)
) STRICT;
CREATE INDEX peer_review_of ON peer_review (hub, provider);
-- How far each peer was read, and how many of its reviews are kept.
CREATE TABLE peer_reviews_read (
  hub     TEXT PRIMARY KEY,
  fed_seq INTEGER NOT NULL,
  reviews INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
