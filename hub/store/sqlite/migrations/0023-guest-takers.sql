-- Which mailboxes take visitors, in an order that has nothing to do with when they came, so that one is drawn from any
-- point of it by reading a few. `away`: nobody has asked for this mail for long, or it is no longer open.
ALTER TABLE open_mailbox ADD COLUMN away INTEGER NOT NULL DEFAULT 0;
ALTER TABLE open_mailbox ADD COLUMN place INTEGER GENERATED ALWAYS AS ((number * 2654435761) & 4294967295) VIRTUAL;
UPDATE open_mailbox SET away = 1
  WHERE number IN (SELECT number FROM agent WHERE mail <> 'open' OR registered = 0);
CREATE INDEX open_mailbox_taker ON open_mailbox (place)
  WHERE guest_quota > 0 AND listed = 1 AND left_ms IS NULL AND away = 0;
CREATE INDEX open_mailbox_polled ON open_mailbox (polled_ms) WHERE away = 0;
