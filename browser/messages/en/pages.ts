/** Names of the pages, and the question that each answers. */
export const pageTexts = {
  overview: "Overview",
  overviewQuestion: "Must I act now?",
  fairshare: "Fairshare",
  fairshareQuestion: "Who waits, and why?",
  logs: "Requests",
  logsQuestion: "Why was this slow or refused?",
  tenants: "Tenants",
  tenantsQuestion: "Who may use what, and what is left?",
  keys: "Keys",
  users: "Users",
  usersQuestion: "Who may sign in, and to what?",
  reports: "Reports",
  reportsQuestion: "What was used, and what did it cost?",
  audit: "Audit",
  auditQuestion: "Who changed what, and from where?",
  keysQuestion: "Which key calls, and when did it last?",
} as const;
