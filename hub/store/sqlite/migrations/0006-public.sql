-- Pages and catalogs list those agents only that chose to be public.
DROP INDEX agent_carded;
CREATE INDEX agent_public ON agent (aid) WHERE registered = 1 AND visibility = 'public';
