-- The task board: cards, and what happened to each. Agents with open mail alone write here.
CREATE TABLE board_card (
  n          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id         text COLLATE "C" NOT NULL UNIQUE,
  version    bigint NOT NULL,
  title      text NOT NULL,
  taskdoc    text NOT NULL,
  state      text NOT NULL CHECK (state IN ('open', 'claimed', 'submitted', 'accepted')),
  place      text NOT NULL
    CHECK (place IN ('draft', 'backlog', 'ready', 'in_progress', 'in_review', 'done', 'blocked')),
  before     text,
  creator    text COLLATE "C" NOT NULL,
  assignee   text COLLATE "C",
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL
);
CREATE INDEX board_in_progress ON board_card (assignee) WHERE place = 'in_progress';
CREATE INDEX board_card_place ON board_card (place, n);
CREATE INDEX board_card_of ON board_card (creator);
CREATE TABLE board_event (
  seq     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  card    text COLLATE "C" NOT NULL,
  made_ms bigint NOT NULL,
  at_ms   bigint NOT NULL,
  actor   text COLLATE "C" NOT NULL,
  action  text NOT NULL,
  detail  text NOT NULL
);
CREATE INDEX board_event_of ON board_event (card, actor, made_ms);
