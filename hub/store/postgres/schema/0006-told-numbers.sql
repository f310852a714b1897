-- What peers are told has its number once one of them asks: until then `fed_seq` is null, and `n` has the order.
ALTER TABLE told_review DROP CONSTRAINT told_review_pkey;
ALTER TABLE told_review ALTER COLUMN fed_seq DROP IDENTITY;
ALTER TABLE told_review ALTER COLUMN fed_seq DROP NOT NULL;
ALTER TABLE told_review ADD COLUMN n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
CREATE UNIQUE INDEX told_review_number ON told_review (fed_seq);
CREATE INDEX told_review_pending ON told_review (n) WHERE fed_seq IS NULL;
CREATE SEQUENCE told_review_seq OWNED BY told_review.fed_seq;
SELECT setval('told_review_seq', coalesce(max(fed_seq), 0) + 1, false) FROM told_review;

-- Agents that peers are told of, each once; or that they are told no more.
CREATE TABLE told_card (
  n         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fed_seq   bigint UNIQUE,
  aid       text COLLATE "C" NOT NULL UNIQUE,
  withdrawn boolean NOT NULL
);
CREATE INDEX told_card_pending ON told_card (n) WHERE fed_seq IS NULL;
CREATE SEQUENCE told_card_seq OWNED BY told_card.fed_seq;
INSERT INTO told_card (aid, withdrawn)
  SELECT aid, false FROM agent
  WHERE registered AND visibility <> 'hub-local' AND keys IS NOT NULL ORDER BY number;
-- How far the cards of each peer were read, and how many are kept.
CREATE TABLE peer_cards_read (
  hub     text COLLATE "C" PRIMARY KEY,
  fed_seq bigint NOT NULL,
  cards   bigint NOT NULL
);
