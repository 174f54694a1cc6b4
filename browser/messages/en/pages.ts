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
  keysQuestion: "Which key calls, and when did it last?",
  deployments: "Deployments",
  deploymentsQuestion: "What runs on the cluster, and what keeps it from running?",
} as const;
