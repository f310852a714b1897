-- The agent's signed card for other agents, as text, and the skills and tags by which it is found.
ALTER TABLE agent ADD COLUMN card TEXT;
CREATE TABLE card_term (
  term TEXT NOT NULL,
  aid  TEXT NOT NULL,
  PRIMARY KEY (term, aid)
) STRICT, WITHOUT ROWID;
CREATE INDEX card_term_of ON card_term (aid);
CREATE INDEX agent_carded ON agent (aid) WHERE registered = 1 AND card IS NOT NULL;
