-- PostgreSQL's default (4 MB): the index of searches then costs a third per new link, and a search at most 2 ms more.
ALTER INDEX projection_redirects.links_account_folded_idx RESET (gin_pending_list_limit);
