-- Tells whoever listens that what an organization's members may see has changed: a version was published, a document
-- moved or deleted. The payload is the organization's id, nothing else. Delivered at commit (LISTEN/NOTIFY), so a
-- stage that remembers "this chunk is visible" forgets it within milliseconds.
create function notify_visibility() returns trigger
language plpgsql
set search_path = folio, pg_temp
as $$
begin
    perform pg_notify('folio_visibility', coalesce(new.organization_id, old.organization_id)::text);
    return null;
end
$$;

create trigger visibility after insert or update or delete on documents
for each row execute function notify_visibility();
