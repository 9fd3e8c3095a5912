-- What the encoders read of a chunk: the title of its document, for the text of a page seldom says what it is a page of,
-- then the text, or the row of a table with its heads. The retriever encodes the same (documents.py).
create function folio.encoded_text(heading text, reading text, body text) returns text
    language sql immutable parallel safe
    return left(split_part(heading, E'\n', 1), 100) || E'\n' || coalesce(nullif(reading, ''), body);
