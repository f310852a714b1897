-- Room for a full disk, a page a row: given up so that mail can be collected and confirmed, which makes more. Unlogged, and
-- without a table beside it for long values: so giving it up needs no room itself, and a server that stopped because its
-- log found none has it as soon as it starts again.
CREATE UNLOGGED TABLE reserve (
  filler varchar(400) NOT NULL
) WITH (fillfactor = 10, autovacuum_enabled = false);
-- When it was given up, 0 while it is there. Until it is there again it is kept from new mail.
CREATE UNLOGGED TABLE reserve_given_up (
  at_ms bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO reserve_given_up (at_ms) VALUES (0);
