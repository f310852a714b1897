/** The way of a store that an earlier build left to the tables of this one. A released step is never edited. */

/** Step n brings a store from schema n + 1 to schema n + 2; schema 1 is the first that was released. */
export const upgrades: readonly string[] = [
  /* sql */ `
-- Ids of capabilities that the hub has still to be told of.
CREATE TABLE revocations (id BLOB PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- The chain record that first named the receipt.
ALTER TABLE interactions ADD COLUMN receipt_seq INTEGER;
CREATE INDEX interactions_receipt_waiting ON interactions (key) WHERE receipt_state = 'waiting';
`,
  /* sql */ `
-- What a hub is known to hold of this node's card, and the address that such a card names.
ALTER TABLE hubs ADD COLUMN base_url TEXT;
ALTER TABLE hubs ADD COLUMN card BLOB;
ALTER TABLE hubs ADD COLUMN card_state TEXT CHECK (card_state IN ('stored', 'refused'));
ALTER TABLE hubs ADD COLUMN card_seen_at INTEGER;
`,
  /* sql */ `
-- Columns that were written and never read, or never written.
ALTER TABLE hubs DROP COLUMN floor;
ALTER TABLE hubs DROP COLUMN stopped;
ALTER TABLE peers DROP COLUMN refreshed_at;
ALTER TABLE interactions DROP COLUMN ended_at;
ALTER TABLE interactions DROP COLUMN unanswered;
ALTER TABLE interactions DROP COLUMN receipt_former;
ALTER TABLE interactions DROP COLUMN note;
ALTER TABLE messages DROP COLUMN accepted_at;
ALTER TABLE messages DROP COLUMN kel_seq;
ALTER TABLE messages DROP COLUMN delivered_at;
ALTER TABLE outbox DROP COLUMN capability;
`,
  /* sql */ `
-- Under what the last envelope of a message went: 'session', or the id of a capability.
ALTER TABLE outbox ADD COLUMN credential TEXT;
-- A receipt of the same provider that says something else than the one that is kept.
ALTER TABLE interactions ADD COLUMN contradicting BLOB;
`,
  /* sql */ `
-- The longest head of its chain that the peer signed, as it is given back, and when it last knew of it.
ALTER TABLE peers ADD COLUMN head BLOB;
ALTER TABLE peers ADD COLUMN head_length INTEGER;
ALTER TABLE peers ADD COLUMN head_at INTEGER;
`,
  /* sql */ `
-- The index of words follows the messages.
DROP TRIGGER messages_text_added;
`,
  /* sql */ `
-- Which capabilities came together, in the order in which they came.
ALTER TABLE capabilities_held ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;
`,
]
