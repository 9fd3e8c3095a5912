-- Every table with an organization's data has organization_id first in its keys: foreign keys and unique constraints
-- do not see row-level security, so a key without it would let one tenant point at, or learn of, another's rows.

create extension if not exists vector with schema public;

revoke create on schema public from public;

create table organizations (
    id bigint generated always as identity primary key,
    name text not null unique check (name <> ''),
    -- Whether the query log may keep the text of questions.
    retains_text boolean not null default false,
    created_at timestamptz not null default now()
);

create table rooftops (
    organization_id bigint not null references organizations on delete cascade,
    id bigint generated always as identity,
    name text not null check (name <> ''),
    primary key (organization_id, id),
    unique (organization_id, name)
);

create table collections (
    organization_id bigint not null references organizations on delete cascade,
    id bigint generated always as identity,
    name text not null check (name <> ''),
    primary key (organization_id, id),
    unique (organization_id, name)
);

-- A document is a name in a collection. What it holds is a version; readers see `current_version` and no other.
create table documents (
    organization_id bigint not null references organizations on delete cascade,
    id bigint generated always as identity,
    rooftop_id bigint,
    collection_id bigint,
    file_name text not null check (file_name <> ''),
    current_version integer,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (organization_id, id),
    unique nulls not distinct (organization_id, rooftop_id, collection_id, file_name),
    foreign key (organization_id, rooftop_id) references rooftops,
    foreign key (organization_id, collection_id) references collections
);

create table document_versions (
    organization_id bigint not null,
    document_id bigint not null,
    version integer not null check (version > 0),
    rooftop_id bigint,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    -- What was asked for beside the bytes (title, kind, chunk sizes, embedding model, ...), hashed: the same bytes with
    -- another recipe are another version.
    recipe text not null default '',
    title text not null,
    media_type text not null,
    kind text not null default '',
    published_on date,
    size_bytes bigint not null,
    status text not null
        check (status in ('STAGING', 'STAGED', 'READY', 'READY_WITH_WARNINGS', 'NEEDS_OCR', 'FAILED')),
    -- What `status` becomes when the version is published.
    outcome text not null default 'READY' check (outcome in ('READY', 'READY_WITH_WARNINGS', 'NEEDS_OCR')),
    page_count integer not null default 0,
    chunk_count integer not null default 0,
    warnings text[] not null default '{}',
    empty_pages integer[] not null default '{}',
    error text not null default '',
    -- The distinct words, for finding misspelt ones; counted in `vocabulary` while the version is current.
    words text[] not null default '{}',
    -- Lengths of its chunks in lexemes, added up: BM25 needs the average.
    lexeme_count bigint not null default 0,
    -- While STAGING: who works on it, and until when that is believed.
    worker text not null default '',
    leased_until timestamptz not null default now(),
    attempts integer not null default 0,
    created_at timestamptz not null default now(),
    published_at timestamptz,
    primary key (organization_id, document_id, version),
    foreign key (organization_id, document_id) references documents on delete cascade
);
create index on document_versions (organization_id, sha256);

create table files (
    organization_id bigint not null,
    document_id bigint not null,
    version integer not null,
    rooftop_id bigint,
    bytes bytea not null,
    -- The PDF that OCR made of a scan: the file that offsets refer to. Null where there was no OCR.
    text_layer bytea,
    primary key (organization_id, document_id, version),
    foreign key (organization_id, document_id, version) references document_versions on delete cascade
);
-- Files are compressed already.
alter table files alter column bytes set storage external, alter column text_layer set storage external;

create table pages (
    organization_id bigint not null,
    document_id bigint not null,
    version integer not null,
    rooftop_id bigint,
    index integer not null check (index >= 0),
    label text not null,
    char_start bigint not null,
    text text not null,
    primary key (organization_id, document_id, version, index),
    foreign key (organization_id, document_id, version) references document_versions on delete cascade
);

create table sections (
    organization_id bigint not null,
    id bigint generated always as identity,
    document_id bigint not null,
    version integer not null,
    rooftop_id bigint,
    ordinal integer not null,
    path text[] not null,
    char_start bigint not null,
    char_end bigint not null,
    page_start integer not null,
    page_end integer not null,
    token_count integer not null,
    primary key (organization_id, id),
    unique (organization_id, document_id, version, ordinal),
    foreign key (organization_id, document_id, version) references document_versions on delete cascade
);

-- A partition per organization, so that each has vector and word indexes, and statistics, of its own.
create sequence chunk_ids;
create table chunks (
    organization_id bigint not null references organizations,
    id bigint not null default nextval('folio.chunk_ids'),
    document_id bigint not null,
    version integer not null,
    rooftop_id bigint,
    collection_id bigint,
    section_id bigint not null,
    ordinal integer not null,
    page_start integer not null,
    page_end integer not null,
    page_label text not null,
    kind text not null default '',
    published_on date,
    -- The document's title and the section's path: searched with the body, shown apart from it.
    heading text not null,
    -- A slice of the document's text, from char_start to char_end.
    body text not null,
    -- Search terms that the text search parser would lose: codes and CJK bigrams (see lexical.py).
    terms text not null default '',
    char_start bigint not null,
    char_end bigint not null,
    token_count integer not null,
    -- SHA-256 of the text that was embedded: the key of embedding_cache.
    text_sha256 bytea not null,
    -- Part of the current version. Staged chunks are in no search index.
    live boolean not null default false,
    embedding_minilm vector(384),
    primary key (organization_id, id),
    unique (organization_id, document_id, version, ordinal),
    foreign key (organization_id, document_id, version) references document_versions on delete cascade,
    foreign key (organization_id, section_id) references sections on delete cascade
) partition by list (organization_id);
create index on chunks (section_id);
create index on chunks (text_sha256);
create index chunks_embedding_minilm on chunks using hnsw (embedding_minilm vector_cosine_ops) where live;

-- Which column of `chunks` holds which model's vectors. Not a tenant's data.
create table embedding_models (
    name text primary key,
    column_name text not null unique check (column_name ~ '^embedding_[a-z0-9_]{1,40}$'),
    dim integer not null check (dim between 1 and 2000),
    revision text not null default '',
    state text not null check (state in ('filling', 'ready')),
    created_at timestamptz not null default now()
);
insert into embedding_models (name, column_name, dim, state)
values ('sentence-transformers/all-MiniLM-L6-v2', 'embedding_minilm', 384, 'ready');

-- Late interaction: one matrix (n tokens, dim) per chunk and model, row-major, little-endian.
create table token_vectors (
    organization_id bigint not null,
    chunk_id bigint not null,
    model text not null,
    rooftop_id bigint,
    n integer not null check (n >= 0),
    dim integer not null check (dim > 0),
    dtype text not null,
    bytes bytea not null,
    primary key (organization_id, chunk_id, model),
    foreign key (organization_id, chunk_id) references chunks on delete cascade
);
alter table token_vectors alter column bytes set storage external;

create table embedding_cache (
    organization_id bigint not null references organizations on delete cascade,
    model text not null,
    text_sha256 bytea not null,
    -- Little-endian float32.
    vector bytea not null,
    created_at timestamptz not null default now(),
    primary key (organization_id, model, text_sha256)
);

-- Words of the current versions and how many of them hold each, per part of the organization.
create table vocabulary (
    organization_id bigint not null references organizations on delete cascade,
    id bigint generated always as identity,
    rooftop_id bigint,
    word text not null,
    documents integer not null check (documents >= 0),
    primary key (organization_id, id),
    unique nulls not distinct (organization_id, word, rooftop_id)
);
create table vocabulary_trigrams (
    organization_id bigint not null,
    trigram text not null,
    word_id bigint not null,
    rooftop_id bigint,
    primary key (organization_id, trigram, word_id),
    foreign key (organization_id, word_id) references vocabulary on delete cascade
);
create index on vocabulary_trigrams (organization_id, word_id);

-- Same request id, same result.
create table ingest_requests (
    organization_id bigint not null,
    request_id text not null,
    document_id bigint not null,
    version integer not null,
    sha256 text not null,
    rooftop_id bigint,
    created_at timestamptz not null default now(),
    primary key (organization_id, request_id),
    foreign key (organization_id, document_id, version) references document_versions on delete cascade
);

create table query_log (
    organization_id bigint not null references organizations on delete cascade,
    request_id text not null,
    rooftop_id bigint,
    subject text not null default '',
    outcome text not null default '',
    -- Null unless the organization retains text.
    question text,
    stages jsonb not null default '[]',
    created_at timestamptz not null default now(),
    primary key (organization_id, request_id)
);

-- Where text left the suite.
create table egress (
    organization_id bigint not null references organizations on delete cascade,
    request_id text not null,
    ordinal integer not null,
    rooftop_id bigint,
    provider text not null,
    purpose text not null,
    bytes_sent bigint not null,
    created_at timestamptz not null default now(),
    primary key (organization_id, request_id, ordinal)
);
