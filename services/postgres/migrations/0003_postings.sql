-- The inverted index of the sparse leg: how often (tf) a lexeme stands in a live chunk of `length` lexemes. Plain rows,
-- so that BM25 is exact, transactional, under row-level security, and the same after a crash (see sparse.sql).
create table postings (
    organization_id bigint not null references organizations,
    lexeme text not null,
    chunk_id bigint not null,
    document_id bigint not null,
    rooftop_id bigint,
    tf integer not null check (tf > 0),
    length integer not null check (length > 0),
    primary key (organization_id, lexeme, chunk_id) include (document_id, rooftop_id, tf, length),
    foreign key (organization_id, chunk_id) references chunks on delete cascade
) partition by list (organization_id);
-- Without the organization: in a partition it selects nothing, yet a planner without statistics believes it does, and
-- would answer searches from this index.
create index on postings (chunk_id);
call secure_table('folio.postings');
