-- Row-level security: ENABLEd and FORCEd on every table with an organization's data, and on every partition.
--
-- After a transaction with a local setting, current_setting gives '' rather than null, and ''::bigint raises: hence
-- nullif. The sub-select makes it one evaluation per query instead of one per row. No tenant: no rows.

-- A principal without a rooftop sees the whole organization; one with a rooftop sees what belongs to all and to its
-- own, and changes only its own.
create procedure secure_table(target regclass)
language plpgsql
set search_path = folio, pg_temp
as $$
declare
    tenant constant text := '(select nullif(current_setting(''app.organization_id'', true), '''')::bigint)';
    roof constant text := '(select nullif(current_setting(''app.rooftop_id'', true), '''')::bigint)';
    tenant_column text := case when target = 'folio.organizations'::regclass then 'id' else 'organization_id' end;
begin
    execute format('alter table %s enable row level security', target);
    execute format('alter table %s force row level security', target);
    execute format('create policy tenant on %s using (%I = %s) with check (%I = %s)',
                   target, tenant_column, tenant, tenant_column, tenant);
    if exists (select from pg_attribute
               where attrelid = target and attname = 'rooftop_id' and not attisdropped) then
        execute format('create policy rooftop_read on %s as restrictive for select '
                       'using (%s is null or rooftop_id is null or rooftop_id = %s)', target, roof, roof);
        execute format('create policy rooftop_insert on %s as restrictive for insert '
                       'with check (%s is null or rooftop_id = %s)', target, roof, roof);
        execute format('create policy rooftop_update on %s as restrictive for update '
                       'using (%s is null or rooftop_id = %s)', target, roof, roof);
        execute format('create policy rooftop_delete on %s as restrictive for delete '
                       'using (%s is null or rooftop_id = %s)', target, roof, roof);
    end if;
end
$$;

do $$
declare
    target regclass;
begin
    for target in
        select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'folio'::regnamespace and c.relkind in ('r', 'p')
          and a.attname = 'organization_id' and not a.attisdropped
        union select 'folio.organizations'::regclass
    loop
        call secure_table(target);
    end loop;
end
$$;

-- The owner keeps the list of organizations; of their data it sees no more than anybody.
create policy administration on organizations to current_user using (true) with check (true);

-- Makes an organization and its partition of every partitioned table.
create function create_organization(organization_name text) returns bigint
language plpgsql
set search_path = folio, public, pg_temp
as $$
declare
    made bigint;
    parent regclass;
    partition text;
begin
    insert into organizations (name) values (organization_name) returning id into made;
    for parent in
        select oid from pg_class where relnamespace = 'folio'::regnamespace and relkind = 'p'
    loop
        partition := format('%s_%s', (select relname from pg_class where oid = parent), made);
        execute format('create table %I partition of %s for values in (%s)', partition, parent, made);
        call secure_table(format('folio.%I', partition)::regclass);
    end loop;
    return made;
end
$$;

create procedure drop_organization(organization bigint)
language plpgsql
set search_path = folio, public, pg_temp
as $$
declare
    parent regclass;
begin
    perform set_config('app.organization_id', organization::text, true);
    delete from token_vectors where organization_id = organization;
    delete from postings where organization_id = organization;
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

revoke all on function create_organization(text) from public;
revoke all on procedure drop_organization(bigint) from public;
revoke all on procedure secure_table(regclass) from public;

-- What the application's role may do. Never on a partition: the parent's rights cover access through the parent.
create procedure grant_application(role_name name)
language plpgsql
set search_path = folio, public, pg_temp
as $$
begin
    execute format('grant usage on schema folio to %I', role_name);
    execute format('grant select on schema_migrations, embedding_models, organizations, rooftops to %I', role_name);
    execute format(
        'grant select, insert, update, delete on collections, documents, document_versions, files, pages, sections, '
        'chunks, postings, token_vectors, embedding_cache, vocabulary, vocabulary_trigrams, ingest_requests to %I',
        role_name);
    execute format('grant select, insert on query_log, egress to %I', role_name);
    execute format('grant usage on all sequences in schema folio to %I', role_name);
end
$$;
revoke all on procedure grant_application(name) from public;
