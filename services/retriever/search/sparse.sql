-- BM25 (Robertson and Zaragoza, 2009) over the postings: min(limit, matches) rows of (chunk id, score, row id), best
-- first, ties by id. A row of a table that holds a share of what the query's lexemes weigh lends its score to its window,
-- which has the best of its own and its rows'; the row id is the best of these rows, null for none. With `apart` rows
-- are hits of their own, whatever they hold.
-- Document frequencies are those of the windows that the caller may see; the filter does not change them.
-- The sums are taken in the order of the lexemes, so that a score is the same, to the bit, whatever the plan.
with query as materialized (
    select lexeme from unnest(to_tsvector('english', %(query)s))
), corpus as materialized (
    select coalesce(sum(v.chunk_count - v.row_count), 0)::float8 as chunks,
           greatest(sum(v.lexeme_count)::float8 / nullif(sum(v.chunk_count - v.row_count), 0), 1) as average
    from documents d
    join document_versions v
      on v.organization_id = d.organization_id and v.document_id = d.id and v.version = d.current_version
    where d.organization_id = %(organization)s
), hits as materialized (
    select p.lexeme, p.chunk_id, p.document_id, p.tf, p.length
    from postings p
    where p.organization_id = %(organization)s and p.lexeme = any(array(select lexeme from query))
), row_hits as materialized (
    select p.lexeme, p.row_id, p.window_id, p.document_id, p.tf, p.length
    from row_postings p
    where p.organization_id = %(organization)s and p.lexeme = any(array(select lexeme from query))
), weights as materialized (
    select lexeme, ln(1 + (greatest((select chunks from corpus), count(*)) - count(*) + 0.5) / (count(*) + 0.5)) as idf
    from hits group by lexeme
), scored as (
    select h.chunk_id as id, null::bigint as row_id,
           sum(w.idf * h.tf * (%(k1)s + 1)
               / (h.tf + %(k1)s * (1 - %(b)s + %(b)s * h.length / (select average from corpus)))
               order by h.lexeme) as score
    from hits h join weights w using (lexeme)
    where %(documents)s::bigint[] is null or h.document_id = any(%(documents)s)
    group by h.chunk_id
    union all
    select case when %(apart)s then h.row_id else h.window_id end, h.row_id,
           sum(w.idf * h.tf * (%(k1)s + 1)
               / (h.tf + %(k1)s * (1 - %(b)s + %(b)s * h.length / (select average from corpus)))
               order by h.lexeme)
    from row_hits h join weights w using (lexeme)
    where %(documents)s::bigint[] is null or h.document_id = any(%(documents)s)
    group by h.row_id, h.window_id
    having %(apart)s or sum(w.idf) >= %(share)s * (select sum(idf) from weights)
)
select id, max(score) as score, (array_agg(row_id order by score desc, row_id) filter (where row_id is not null))[1]
from scored
group by id
order by 2 desc, id
limit %(limit)s
