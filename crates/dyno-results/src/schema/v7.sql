-- Version 7: reads that found no row; 0 in older runs.

ALTER TABLE interval ADD COLUMN reads_empty INTEGER NOT NULL DEFAULT 0;
