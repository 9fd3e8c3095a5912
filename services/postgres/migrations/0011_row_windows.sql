-- Rows of tables are found by words and by meaning, and stand for the window that holds them. Null: a window, or a row
-- that was read before, which is found by its codes alone.
alter table chunks add column window_id bigint;

-- The inverted index of rows, apart from that of windows: so no row counts in a document frequency or in a length.
create table row_postings (
    organization_id bigint not null,
    lexeme text not null,
    row_id bigint not null,
    window_id bigint not null,
    document_id bigint not null,
    rooftop_id bigint,
    tf integer not null check (tf > 0),
    length integer not null check (length > 0),
    primary key (organization_id, lexeme, row_id) include (window_id, document_id, rooftop_id, tf, length),
    foreign key (organization_id, row_id) references chunks on delete cascade
) partition by list (organization_id);
create index on row_postings (row_id);
call secure_table('folio.row_postings');

do $$
declare
    organization bigint;
begin
    for organization in
        select id from organizations
    loop
        execute format('create table %I partition of row_postings for values in (%s)',
                       format('row_postings_%s', organization), organization);
        call secure_table(format('folio.row_postings_%s', organization)::regclass);
    end loop;
end
$$;

create or replace procedure drop_organization(organization bigint)
language plpgsql
set search_path = folio, public, pg_temp
as $$
declare
    parent regclass;
begin
    perform set_config('app.organization_id', organization::text, true);
    delete from token_vectors where organization_id = organization;
    delete from postings where organization_id = organization;
    delete from row_postings where organization_id = organization;
    for parent in
        select oid from pg_class where relnamespace = 'folio'::regnamespace and relkind = 'p' order by oid desc
    loop
        execute format('delete from %s where organization_id = %s', parent, organization);
        execute format('alter table %s detach partition %I', parent,
                       format('%s_%s', (select relname from pg_class where oid = parent), organization));
        execute format('drop table %I',
                       format('%s_%s', (select relname from pg_class where oid = parent), organization));
    end loop;
    delete from documents where organization_id = organization;
    delete from organizations where id = organization;
end
$$;

create or replace procedure grant_application(role_name name)
language plpgsql
set search_path = folio, public, pg_temp
as $$
begin
    execute format('grant usage on schema folio to %I', role_name);
    execute format('grant select on schema_migrations, embedding_models, organizations, rooftops to %I', role_name);
    execute format(
        'grant select, insert, update, delete on collections, documents, document_versions, files, pages, sections, '
        'tables, chunks, postings, row_postings, token_vectors, embedding_cache, vocabulary, vocabulary_trigrams, '
        'ingest_requests to %I', role_name);
    execute format('grant select, insert on query_log, egress to %I', role_name);
    execute format('grant usage on all sequences in schema folio to %I', role_name);
end
$$;
