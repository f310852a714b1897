-- The place of an envelope says its rid; those queued before keep the one in their row. `rid` of the others is empty.
DROP INDEX envelope_rid;
CREATE UNIQUE INDEX envelope_given_rid ON envelope (rid) WHERE rid <> x'';
