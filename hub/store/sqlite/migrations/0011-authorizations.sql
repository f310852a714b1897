-- What its payer signed for a transfer, so that a hub can show it.
ALTER TABLE ledger_transfer ADD COLUMN authorization BLOB;
