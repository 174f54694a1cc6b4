ALTER TABLE files ADD COLUMN IF NOT EXISTS answer_of uuid REFERENCES batches (id) ON DELETE CASCADE;
CREATE INDEX IF NOT EXISTS files_answer_of ON files (answer_of) WHERE answer_of IS NOT NULL;
ALTER TABLE batch_lines ADD COLUMN IF NOT EXISTS answer_file_id uuid;
