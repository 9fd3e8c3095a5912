-- BM25 (Robertson and Zaragoza, 2009) over the postings: min(limit, matches) rows of (chunk id, score), best first,
-- ties by id. Document frequencies are those of the rows that the caller may see; the filter does not change them.
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
), weights as materialized (
    select lexeme, ln(1 + (greatest((select chunks from corpus), count(*)) - count(*) + 0.5) / (count(*) + 0.5)) as idf
    from hits group by lexeme
)
select h.chunk_id,
       sum(w.idf * h.tf * (%(k1)s + 1)
           / (h.tf + %(k1)s * (1 - %(b)s + %(b)s * h.length / (select average from corpus)))
           order by h.lexeme) as score
from hits h join weights w using (lexeme)
where %(documents)s::bigint[] is null or h.document_id = any(%(documents)s)
group by h.chunk_id
order by score desc, h.chunk_id
limit %(limit)s
