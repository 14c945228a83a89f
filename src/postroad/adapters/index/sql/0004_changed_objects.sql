-- Which configuration objects have changed since: so that another node's binding is found among a hundred thousand.

-- both:
CREATE INDEX object_seq ON object (seq);
