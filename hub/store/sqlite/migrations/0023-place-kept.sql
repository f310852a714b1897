-- This number belongs to another change, which takes its place.
SELECT 1;
