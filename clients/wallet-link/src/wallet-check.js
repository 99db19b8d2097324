// The wallet check, for a page: what a market will ask of a wallet, row by row, and a report.

export { ROWS } from "./check/rows.js";
export { begin, runCheck } from "./check/run.js";
export { makeReport, writeText } from "./check/report.js";
