-- Ratings of finished tasks. Kept and passed on is what the provider signed; who asked stands here only as a keyed hash
-- that differs from provider to provider.
CREATE TABLE review (
  seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider    text COLLATE "C" NOT NULL,
  interaction bytea NOT NULL,
  reviewer    bytea NOT NULL,
  rating      bigint NOT NULL,
  receipt     bytea NOT NULL,
  review      bytea NOT NULL,
  attestation bytea NOT NULL,
  UNIQUE (provider, interaction)
);
CREATE INDEX review_of ON review (provider, reviewer, rating);

-- What peers are told of reviews, in the order of their numbers, which are never given again. `peer` is empty where all of
-- them are told; `review` is null where an agent's reviews are withdrawn.
CREATE TABLE told_review (
  fed_seq  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider text COLLATE "C" NOT NULL,
  peer     text COLLATE "C" NOT NULL,
  review   bigint REFERENCES review (seq)
);
CREATE INDEX told_review_to ON told_review (peer, fed_seq);
CREATE INDEX told_review_of ON told_review (provider, peer);
-- Key histories of reviewed agents that are not registered here: the longest that came with a review.
CREATE TABLE review_provider (
  aid text COLLATE "C" PRIMARY KEY,
  kel bytea NOT NULL
);
-- What peers told of reviews that they attest, in the order in which it came; nothing here names a reviewer.
CREATE TABLE peer_review (
  n           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider    text COLLATE "C" NOT NULL,
  interaction bytea NOT NULL,
  hub         text COLLATE "C" NOT NULL,
  rating      bigint NOT NULL,
  UNIQUE (provider, interaction, hub)
);
CREATE INDEX peer_review_of ON peer_review (hub, provider);
-- How far each peer was read, and how many of its reviews are kept.
CREATE TABLE peer_reviews_read (
  hub     text COLLATE "C" PRIMARY KEY,
  fed_seq bigint NOT NULL,
  reviews bigint NOT NULL
);

-- Agents that peers told of as theirs.
CREATE TABLE peer_card (
  hub text COLLATE "C" NOT NULL,
  aid text COLLATE "C" NOT NULL,
  PRIMARY KEY (hub, aid)
);
CREATE INDEX peer_card_of ON peer_card (aid);

-- Reviews of agents with open mail, in the order in which peers are told of them. Each names its reviewer, and has the
-- documents that its receipt binds; `provider_kel` where its provider is known from elsewhere alone.
CREATE TABLE open_review (
  fed_seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider     text COLLATE "C" NOT NULL,
  interaction  bytea NOT NULL,
  reviewer     text COLLATE "C" NOT NULL,
  rating       bigint NOT NULL CHECK (rating BETWEEN 1 AND 5),
  provider_kel bytea,
  receipt      bytea NOT NULL,
  review       bytea NOT NULL,
  request      bytea NOT NULL,
  deliverable  bytea NOT NULL,
  UNIQUE (provider, interaction)
);
CREATE INDEX open_review_of ON open_review (provider, reviewer, rating);
