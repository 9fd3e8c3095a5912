-- What a question went through is called its steps everywhere.
alter table query_log rename column stages to steps;
