-- The task board: cards, and what happened to each. Agents with open mail alone write here.
CREATE TABLE board_card (
  n          INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  version    INTEGER NOT NULL,
  title      TEXT NOT NULL,
  taskdoc    TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'submitted', 'accepted')),
  place      TEXT NOT NULL
    CHECK (place IN ('draft', 'backlog', 'ready', 'in_progress', 'in_review', 'done', 'blocked')),
  before     TEXT,
  creator    TEXT NOT NULL,
  assignee   TEXT,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX board_in_progress ON board_card (assignee) WHERE place = 'in_progress';
CREATE TABLE board_event (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  card    TEXT NOT NULL,
  made_ms INTEGER NOT NULL,
  at_ms   INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
CREATE INDEX board_event_of ON board_event (card, actor, made_ms);
