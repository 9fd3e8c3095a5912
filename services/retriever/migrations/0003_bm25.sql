-- True BM25 where the server has pg_textsearch; else an index on the lexemes, ranked by ts_rank_cd.
-- k1 and b are the ones of Robertson and Zaragoza (2009); `admin bm25 --k1 --b` rebuilds with others.
do $$
begin
    if exists (select from pg_available_extensions where name = 'pg_textsearch')
       and position('pg_textsearch' in current_setting('shared_preload_libraries')) > 0 then
        create extension if not exists pg_textsearch with schema public;
        create index chunks_bm25 on chunks using bm25 (search_text)
            with (text_config = 'english', k1 = 1.2, b = 0.75) where live;
    else
        create index chunks_lexemes on chunks using gin (to_tsvector('english', search_text)) where live;
    end if;
end
$$;
