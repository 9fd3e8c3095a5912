-- What was read is kept: where each character stands (places.py), the lines of a page that are no part of its text
-- (running heads, page numbers), what OCR was not sure of, and the tables. Null boxes: read before they were kept.
alter table pages
    add column furniture text not null default '',
    add column boxes bytea,
    -- Pairs of start and end in the document's text.
    add column uncertain integer[] not null default '{}';
-- They are compressed already.
alter table pages alter column boxes set storage external;

-- What is embedded and searched in place of the body, which stays a slice of the document; '' where it is the body.
alter table chunks add column reading text not null default '';

create table tables (
    organization_id bigint not null,
    document_id bigint not null,
    version integer not null,
    rooftop_id bigint,
    ordinal integer not null check (ordinal >= 0),
    char_start bigint not null,
    char_end bigint not null,
    page_start integer not null,
    page_end integer not null,
    -- Heads, caption, unit and cells: Table.as_json of the retriever.
    data jsonb not null,
    primary key (organization_id, document_id, version, ordinal),
    foreign key (organization_id, document_id, version) references document_versions on delete cascade
);
call secure_table('folio.tables');

create or replace procedure grant_application(role_name name)
language plpgsql
set search_path = folio, public, pg_temp
as $$
begin
    execute format('grant usage on schema folio to %I', role_name);
    execute format('grant select on schema_migrations, embedding_models, organizations, rooftops to %I', role_name);
    execute format(
        'grant select, insert, update, delete on collections, documents, document_versions, files, pages, sections, '
        'tables, chunks, postings, token_vectors, embedding_cache, vocabulary, vocabulary_trigrams, ingest_requests '
        'to %I', role_name);
    execute format('grant select, insert on query_log, egress to %I', role_name);
    execute format('grant usage on all sequences in schema folio to %I', role_name);
end
$$;
