// Excerpts of the pages found would have to be fetched, which a browser refuses to a file.
"use strict";
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
