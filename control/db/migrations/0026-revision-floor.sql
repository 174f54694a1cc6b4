CREATE TABLE IF NOT EXISTS revision_floor (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  rev bigint NOT NULL
);
