/** What is known of an issue by its key: which alert it is, how urgent it is, and where its runbook is. */
import { ALERT_SEVERITIES, ALERT_TITLES, type AlertKey, type SEVERITIES } from "../../shared/catalogues/alerts.ts";
import { oneLine } from "../../shared/text/printable.ts";

const RUNBOOKS = "docs/reference/alerts.md";
/** An alert's key can begin with another's. */
const LONGEST_FIRST = (Object.keys(ALERT_TITLES) as AlertKey[]).toSorted((a, b) => b.length - a.length);

/** The alert of an issue; undefined: no issue has this key. */
export function alertOf(issueKey: string): AlertKey | undefined {
  return LONGEST_FIRST.find((key) => issueKey.startsWith(key) && /^(?:[:_].+)?$/s.test(issueKey.slice(key.length)));
}

/** Issues of a model or an MCP server, whose key ends with its name; that of a queue has the cell before it. */
const NAMED = /^(?:(?:upstream|mcp|model_health)_\w+|queue_wait_long:[^:]+):(.+)$/s;

/** The title of an issue with the name of the model or server that it is about, which tells several of a kind apart. */
export function titleOf(issueKey: string, title: string): string {
  const [, name] = NAMED.exec(issueKey) ?? [];
  return name === undefined ? title : `${title}: ${oneLine(name)}`;
}

/** How urgent an issue is. */
export function severityOf(issueKey: string): (typeof SEVERITIES)[number] {
  const alert = alertOf(issueKey);
  return alert === undefined ? "warning" : ALERT_SEVERITIES[alert];
}

/** What to do about an issue, as a place in the documentation. */
export function runbookOf(issueKey: string): string {
  const alert = alertOf(issueKey);
  return alert === undefined ? RUNBOOKS : `${RUNBOOKS}#${alert}`;
}
