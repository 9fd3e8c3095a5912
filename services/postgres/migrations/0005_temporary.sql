-- Temporary tables come before ours in the search path, and every role may make them: one named like ours would stand
-- in for it for as long as its connection lives in the pool. Nothing of ours uses any.
do $$
begin
    if exists (select from pg_database where datname = current_database() and pg_has_role(datdba, 'usage')) then
        execute format('revoke temporary on database %I from public', current_database());
    else
        raise notice 'TEMPORARY on this database stays with PUBLIC, because % does not own it', current_user;
    end if;
end
$$;
