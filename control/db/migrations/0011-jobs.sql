CREATE TABLE IF NOT EXISTS jobs (
  name text PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz NOT NULL
);
