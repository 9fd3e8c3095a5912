-- A table of all organizations has statistics of them all, and they know nothing of one that came later: the planner
-- believes that it has no row, so any index that begins with the organization seems as good as the key, and a check of
-- a foreign key walked all words of the organization, once for each of their trigrams. So of the keys and indexes of a
-- table at most one begins with the organization; the others begin with what is rare, and hold it further behind.

alter table rooftops drop constraint rooftops_organization_id_name_key, add unique (name, organization_id);
alter table collections drop constraint collections_organization_id_name_key, add unique (name, organization_id);
alter table documents
    drop constraint documents_organization_id_rooftop_id_collection_id_file_nam_key,
    add unique nulls not distinct (file_name, collection_id, rooftop_id, organization_id);
drop index document_versions_organization_id_sha256_idx;
create index on document_versions (sha256, organization_id);
alter table sections
    drop constraint sections_organization_id_document_id_version_ordinal_key,
    add unique (document_id, version, ordinal, organization_id);
alter table chunks
    drop constraint chunks_organization_id_document_id_version_ordinal_key,
    add unique (document_id, version, ordinal, organization_id);

alter table vocabulary_trigrams
    drop constraint vocabulary_trigrams_organization_id_word_id_fkey,
    drop constraint vocabulary_trigrams_pkey;
drop index vocabulary_trigrams_organization_id_word_id_idx;
alter table vocabulary
    drop constraint vocabulary_organization_id_word_rooftop_id_key,
    drop constraint vocabulary_pkey,
    add primary key (id, organization_id),
    add unique nulls not distinct (word, organization_id, rooftop_id);
alter table vocabulary_trigrams
    add primary key (trigram, organization_id, word_id),
    add foreign key (word_id, organization_id) references vocabulary (id, organization_id) on delete cascade;
create index on vocabulary_trigrams (word_id, organization_id);

-- That a chunk has an organization is said of the chunk; said of each of its words it is checked for each of them.
alter table postings drop constraint postings_organization_id_fkey;
