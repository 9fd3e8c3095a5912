-- How many of a version's chunks are rows of tables, which stand beside its windows: they count in no statistic of words.
alter table document_versions add column row_count integer not null default 0;
