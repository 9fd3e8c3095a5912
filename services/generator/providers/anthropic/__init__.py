"""The Claude API, through its SDK: client and failures, requests with documents, answers with citations."""
