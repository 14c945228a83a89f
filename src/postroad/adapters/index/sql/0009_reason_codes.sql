-- The code of the reason for which a delivery failed, and whether a delivery waits for its next push: both were read from the text
-- of the reason before. Dead letters from before keep an empty code, as their entries have none.

-- sqlite:
ALTER TABLE dead_letter ADD COLUMN reason_code TEXT NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN waits_for_push INTEGER NOT NULL DEFAULT 0;

-- postgres:
ALTER TABLE dead_letter ADD COLUMN reason_code text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN waits_for_push integer NOT NULL DEFAULT 0;

-- both:
UPDATE delivery SET waits_for_push = 1 WHERE state = 0 AND substr(reason, 1, 13) = 'push failed: ';
