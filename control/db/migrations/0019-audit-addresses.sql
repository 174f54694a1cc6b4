-- Where the request of a change came from; empty: over no connection, or from before this was kept.
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS address text NOT NULL DEFAULT '';
