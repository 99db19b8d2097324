// What every page has: who you are, a search, and folds that stay open.

import "./fold.js";
import "./search.js";
import "./you.js";
