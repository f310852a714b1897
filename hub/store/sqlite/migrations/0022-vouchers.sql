-- What a payment bought, one for each transfer, written with it and never changed.
CREATE TABLE ledger_voucher (
  transfer  INTEGER PRIMARY KEY REFERENCES ledger_transfer (seq),
  bytes     BLOB NOT NULL,
  redeem_at TEXT NOT NULL
) STRICT;
