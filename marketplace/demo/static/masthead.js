// What every page has: who you are, and folds that stay open.

import "./fold.js";
import "./you.js";
