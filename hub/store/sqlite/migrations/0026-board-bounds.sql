-- Cards of a column are read some at a time, and those of an agent are counted.
CREATE INDEX board_card_place ON board_card (place, n);
CREATE INDEX board_card_of ON board_card (creator);
