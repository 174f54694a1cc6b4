CREATE TABLE IF NOT EXISTS encryption_check (
  id int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  sentinel text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
